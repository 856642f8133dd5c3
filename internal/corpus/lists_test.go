package corpus

// lookups are the assemblies that were made without the answers to lookups, so
// that their templates hold dummies.
var lookups = []string{
	"app-baseline-environment-on-aws-usecases-blea-guest-ecs-app-sample",
	"ex-aws-codepipeline-ecs-lambda",
	"lajos-deploy-alb-with-ec2-instance",
	"lajos-deploy-alb-with-ecs-fargate-from-ecr",
	"lajos-deploy-batch-job-with-fargate",
	"lajos-deploy-ecs-with-ec2",
	"lajos-deploy-ecs-with-fargate-from-docker-image",
	"lajos-deploy-vpc-l2",
	"sp-aurora-serverless-global-db-cdk",
	"sp-eventbridge-sqs-ecs-cdk-src",
	"sp-lambda-elasticache-integrationpattern-cdk",
}

// macros are the assemblies that need a macro which only CloudFormation runs.
var macros = map[string]string{
	"cdk-aws-docdb-cluster-rotation.lit":     "AWS::Serverless-2016-10-31",
	"cdk-aws-rds-cluster-snapshot":           "AWS::Serverless-2016-10-31",
	"cdk-aws-secretsmanager-hosted-rotation": "AWS::SecretsManager-2020-07-23",
	"cp-the-lambda-power-tuner-typescript":   "AWS::Serverless-2016-10-31",
	"ex-rds-oracle":                          "AWS::Serverless-2016-10-31",
}

// unsupported are the assemblies with types that Cloud Control cannot manage
// (their schemas have no handlers, or AWS marks them as not provisionable) and
// that no direct provider made when they were listed. The test says which can be
// taken from the list.
var unsupported = map[string][]string{
	"ex-resource-overrides": {"AWS::S3::Bucketeer"}, // which does not exist
	"app-baseline-environment-on-aws-usecases-blea-gov-base-ct":         {"AWS::Config::RemediationConfiguration"},
	"app-baseline-environment-on-aws-usecases-blea-gov-base-standalone": {"AWS::Config::ConfigurationRecorder", "AWS::Config::DeliveryChannel", "AWS::Config::RemediationConfiguration"},
	"cdk-aws-appmesh-mesh":                                                      {"AWS::AppMesh::GatewayRoute", "AWS::AppMesh::Mesh", "AWS::AppMesh::Route", "AWS::AppMesh::VirtualGateway", "AWS::AppMesh::VirtualNode", "AWS::AppMesh::VirtualRouter", "AWS::AppMesh::VirtualService", "AWS::ServiceDiscovery::PrivateDnsNamespace"},
	"cdk-aws-codecommit-codecommit-code-asset":                                  {"AWS::CodeCommit::Repository"},
	"cdk-aws-codecommit-codecommit-code-asset-zip":                              {"AWS::CodeCommit::Repository"},
	"cdk-aws-codedeploy-ecs-deployment-group":                                   {"AWS::CodeDeploy::DeploymentGroup"},
	"cdk-aws-codedeploy-lambda-deployment-group":                                {"AWS::CodeDeploy::DeploymentGroup"},
	"cdk-aws-codedeploy-server-deployment-group-multiple-load-balancers":        {"AWS::CodeDeploy::DeploymentGroup", "AWS::ElasticLoadBalancing::LoadBalancer"},
	"cdk-aws-docdb-cluster":                                                     {"AWS::DocDB::DBCluster", "AWS::DocDB::DBClusterParameterGroup", "AWS::DocDB::DBInstance", "AWS::DocDB::DBSubnetGroup"},
	"cdk-aws-docdb-cluster-removal-policy-snapshot":                             {"AWS::DocDB::DBCluster", "AWS::DocDB::DBClusterParameterGroup", "AWS::DocDB::DBInstance", "AWS::DocDB::DBSubnetGroup"},
	"cdk-aws-ec2-client-vpn-endpoint":                                           {"AWS::EC2::ClientVpnAuthorizationRule", "AWS::EC2::ClientVpnEndpoint", "AWS::EC2::ClientVpnTargetNetworkAssociation"},
	"cdk-aws-elasticloadbalancing-elb":                                          {"AWS::ElasticLoadBalancing::LoadBalancer"},
	"cdk-aws-elasticsearch-elasticsearch-vpc":                                   {"AWS::Elasticsearch::Domain"},
	"cdk-aws-elasticsearch-elasticsearch.custom-kms-key":                        {"AWS::Elasticsearch::Domain"},
	"cdk-aws-elasticsearch-elasticsearch.ultrawarm":                             {"AWS::Elasticsearch::Domain"},
	"cdk-aws-fsx-lustre-file-system-maintenance-time":                           {"AWS::FSx::FileSystem"},
	"cdk-aws-servicecatalog-nested-stack-in-product-stack":                      {"AWS::ServiceCatalog::CloudFormationProduct"},
	"cdk-aws-servicecatalog-product.encrypted.asset":                            {"AWS::ServiceCatalog::CloudFormationProduct"},
	"cdk-aws-servicecatalog-two-products":                                       {"AWS::ServiceCatalog::CloudFormationProduct"},
	"cdk-aws-ses-actions-actions":                                               {"AWS::SES::ReceiptRule", "AWS::SES::ReceiptRuleSet"},
	"cdk-pipelines-pipeline-with-assets":                                        {"AWS::CodeBuild::Project", "AWS::Test::SomeResource"},
	"cdka-aws-cloud9-alpha-automatic-stop":                                      {"AWS::Cloud9::EnvironmentEC2"},
	"cdka-aws-cloud9-alpha-cloud9":                                              {"AWS::Cloud9::EnvironmentEC2", "AWS::CodeCommit::Repository"},
	"cdka-aws-glue-alpha-external-table":                                        {"AWS::Glue::Connection", "AWS::Glue::Table"},
	"cdka-example-construct-library-example-resource":                           {"AWS::CloudFormation::WaitCondition"},
	"cdkd-codecommit":                                                           {"AWS::CodeCommit::Repository"},
	"cdkd-emr-cluster":                                                          {"AWS::EMR::Cluster"},
	"cdkd-fsx-openzfs":                                                          {"AWS::FSx::FileSystem"},
	"crd-tests-integration-allowpack-hunt":                                      {"AWS::Route53::HostedZone", "AWS::Route53::RecordSetGroup"},
	"crd-tests-integration-case-idents-min":                                     {"AWS::DMS::Endpoint"},
	"crd-tests-integration-echo4-hunt":                                          {"AWS::Budgets::Budget", "AWS::DLM::LifecyclePolicy", "AWS::Route53::HostedZone", "AWS::Route53::RecordSet"},
	"crd-tests-integration-enum-added2-hunt":                                    {"AWS::CodeDeploy::DeploymentGroup"},
	"crd-tests-integration-glue-classifier-readgap":                             {"AWS::Glue::Classifier"},
	"crd-tests-integration-harvest11":                                           {"AWS::CodeBuild::ReportGroup"},
	"crd-tests-integration-ses-receipt-readgap":                                 {"AWS::SES::ReceiptFilter", "AWS::SES::ReceiptRule", "AWS::SES::ReceiptRuleSet"},
	"crd-tests-integration-variants2-hunt":                                      {"AWS::SageMaker::EndpointConfig"},
	"crd-tests-integration-xray-insightrule-rich":                               {"AWS::CloudWatch::InsightRule"},
	"ex-codepipeline-glue-deploy":                                               {"AWS::CodeCommit::Repository"},
	"ex-fsx-ad":                                                                 {"AWS::DirectoryService::MicrosoftAD", "AWS::FSx::FileSystem"},
	"sc-aws-dynamodbstreams-lambda-elasticsearch-kibana-dbslamels-no-arguments": {"AWS::Elasticsearch::Domain"},
	"sc-aws-kinesisstreams-gluejob-kinglu-code-asset-job":                       {"AWS::Glue::SecurityConfiguration", "AWS::Glue::Table"},
	"sc-aws-lambda-elasticsearch-kibana-lamels-no-arguments":                    {"AWS::Elasticsearch::Domain"},
	"sc-aws-lambda-sagemakerendpoint-lamsag-deployFunction":                     {"AWS::SageMaker::EndpointConfig"},
	"sp-amplify-codecommit":                                                     {"AWS::CodeCommit::Repository"},
	"sp-elemental-medialive-mediapackage-cdk-ts":                                {"AWS::MediaLive::Channel", "AWS::MediaLive::Input", "AWS::MediaLive::InputSecurityGroup"},
}

// mistaken are the assemblies with a property that the schema of its type does not
// have. CloudFormation refuses the first as well; the second is newer than the
// schema that is embedded.
var mistaken = map[string]string{
	"cdkd-route53":                          "AWS::Route53::HostedZone has no property HostedZoneFeatures.AcceleratedRecoveryStatus",
	"sp-waf-cloudfront-ai-monetization-cdk": "AWS::WAFv2::WebACL has no properties MonetizationConfig, Rules.Action.Monetize",
}

// broken are the assemblies whose templates a diff warns of, with what is wrong
// in them.
var broken = map[string]string{
	"cdkd-local-start-api": "Fn::Sub names resources that the template does not have",

	"app-automated-security-response-on-aws-source-solution_deploy": "nested stacks are given parameters that their templates do not have",
}

// invalid are the fixtures that must be refused, with what the error has to
// say.
var invalid = map[string]string{
	"fixture-invalid-depends":            "artifact StackC depends on StackX: there is no such artifact",
	"fixture-invalid-env-format":         `environment "awsx://37736633/us-region-1" is not of the form aws://account/region`,
	"fixture-invalid-manifest-type-tree": "more than one construct tree",
	// These two would do for a loader that opens no template. A stack without
	// one can be neither compared nor deployed.
	"fixture-stack-without-params": "stack MyStackName names no templateFile",
	"fixture-nested-assemblies":    "topLevelStack.template.json: not JSON",
}

// undeployed are the assemblies that can be planned and that are not deployed
// here, each with the reason.
var undeployed = map[string]string{
	"sp-appsync-dynamodb-singletable-cdk-cdk":                                       motoAppSync,
	"sp-appsync-mongodb-cdk":                                                        motoAppSync,
	"sp-cdk-lambda-appsync-cdk":                                                     motoAppSync,
	"ex-neptune-with-vpc":                                                           motoParameters,
	"sc-aws-apigateway-iot-apiiot-overrideParams":                                   motoStageKeys,
	"cdk-aws-docdb-cluster-copy-tags-to-snapshot":                                   motoDocuments,
	"cdkd-docdb-neptune":                                                            motoDocuments,
	"sp-apigw-http-lambda-documentdb-cdk":                                           motoDocuments,
	"app-automated-security-response-on-aws-source-blueprints-servicenow-cdk":       content,
	"app-automated-security-response-on-aws-source-playbooks-SC":                    outside,
	"app-automated-security-response-on-aws-source-solution_deploy":                 content,
	"app-bedrock-chat-cdk":                                                          images,
	"app-generative-ai-use-cases-packages-cdk":                                      motoBuild,
	"cdk-aws-apigateway-spec-restapi.import-deploymentstage":                        motoImport,
	"cdk-aws-apigatewayv2-integrations-http-add-subroute-integration":               outside,
	"cdk-aws-appsync-graphql-rds-serverlessv2":                                      motoAppSync,
	"cdk-aws-appsync-js-resolver":                                                   motoAppSync,
	"cdk-aws-appsync-log-retention":                                                 motoAppSync,
	"cdk-aws-cloudfront-origins-s3-origin":                                          motoIdentity,
	"cdk-aws-codebuild-asset-build-spec":                                            motoBuild,
	"cdk-aws-codebuild-github-webhook-batch":                                        motoWebhook,
	"cdk-aws-codebuild-project-buildspec-artifacts":                                 motoBuild,
	"cdk-aws-codepipeline-actions-pipeline-with-pipeline-triggers":                  motoBuild,
	"cdk-aws-ec2-vpc-ipam":                                                          ipam,
	"cdk-aws-ecr-assets-assets-tarball":                                             images,
	"cdk-aws-ecr-assets-nested-stacks-docker":                                       images,
	"cdk-aws-ecs-patterns-fargate-queue-processing-fargate-service-isolated":        images,
	"cdk-aws-ecs-patterns-fargate-queue-processing-fargate-service-task-definition": images,
	"cdk-aws-eks-eks-cluster":                                                       amis,
	"cdk-aws-eks-eks-cluster-ipv6":                                                  amis,
	"cdk-aws-elasticloadbalancingv2-nlb-lookup":                                     balancers,
	"cdk-aws-events-targets-appsync-appsync-events":                                 motoAppSync,
	"cdk-aws-globalaccelerator-endpoints-globalaccelerator":                         content,
	"cdk-aws-lambda-event-sources-kinesiswithdlq":                                   apart,
	"cdk-aws-lambda-lambda.prov.concurrent":                                         motoConcurrency,
	"cdk-aws-logs-destinations-kinesis":                                             apart,
	"cdk-aws-logs-log-group":                                                        motoProtection,
	"cdk-aws-logs-subscriptionfilter-distribution":                                  apart,
	"cdk-aws-rds-proxy":                                                             snapshot,
	"cdk-aws-stepfunctions-tasks-databrew-start-job-run":                            schema,
	"cdk-pipelines-newpipeline":                                                     motoBuild,
	"cdk-pipelines-newpipeline-with-codebuild-logging":                              motoBuild,
	"cdk-pipelines-newpipeline-with-file-system-locations":                          motoBuild,
	"cdk-pipelines-pipeline-with-stack-outputs-in-custom-step":                      motoBuild,
	"cdka-app-staging-synthesizer-alpha-synth-default-resources-ea756":              images,
	"cdka-aws-sagemaker-alpha-model":                                                images,
	"cdkd-alb":                                                                      schema,
	"cdkd-appsync":                                                                  motoAppSync,
	"cdkd-ci-cd":                                                                    motoBuild,
	"cdkd-codebuild-project":                                                        motoBuild,
	"cdkd-deep-getatt-chains":                                                       motoComposite,
	"cdkd-dynamodb-ondemand":                                                        motoInsights,
	"cdkd-lambda-config-field-removal":                                              motoRuntime,
	"cdkd-lambda-microvm-image":                                                     schema,
	"cdkd-local-invoke-agentcore":                                                   images,
	"cdkd-local-start-api":                                                          mistakes,
	"cdkd-rds-aurora":                                                               snapshot,
	"cdkd-rds-dbinstance-backfill":                                                  snapshot,
	"chub-domain-redirect":                                                          outside,
	"cp-the-simple-graphql-service-typescript":                                      motoAppSync,
	"crd-tests-integration-harvest6":                                                motoBuild,
	"crd-tests-integration-miscbarest2-hunt":                                        schema,
	"crd-tests-integration-modes-hunt":                                              schema,
	"crd-tests-integration-second-deploy-echo3":                                     schema,
	"crd-tests-integration-variants3-hunt":                                          motoBuild,
	"ex-application-load-balancer":                                                  balancers,
	"ex-appsync-graphql-dynamodb":                                                   motoAppSync,
	"ex-aws-transfer-sftp-server":                                                   sameName,
	"ex-cloudwatch-evidently-client-side-evaluation-lambda":                         extension,
	"ex-ec2-ssm-local-zone":                                                         amis,
	"ex-ecs-ecs-network-load-balanced-service":                                      motoGroup,
	"ex-ecs-ecs-service-with-advanced-alb-config":                                   motoGroup,
	"ex-ecs-ecs-service-with-task-networking":                                       motoGroup,
	"ex-ecs-ecs-service-with-task-placement":                                        motoGroup,
	"ex-ecs-fargate-service-with-local-image":                                       images,
	"ex-lambda-api-ci":                                                              motoBuild,
	"ex-lambda-manage-s3-event-notification":                                        outside,
	"ex-lambda-provisioned-concurrency-autoscaling":                                 motoConcurrency,
	"ex-s3-object-lambda":                                                           acl,
	"lajos-deploy-lambda-from-docker-image":                                         images,
	"lajos-deploy-lambda-from-s3":                                                   content,
	"oc-aws-redshiftserverless-redshift-serverless-namespace-workgroup":             motoFunction,
	"sc-aws-cloudfront-oai-s3-cftoais3-custom-headers":                              motoIdentity,
	"sc-aws-cloudfront-oai-s3-cftoais3-no-arguments":                                motoIdentity,
	"sc-aws-openapigateway-lambda-opilam-apiFromAssetNewLambdaFunctions":            content,
	"sc-aws-openapigateway-lambda-opilam-substringUriNames":                         content,
	"sp-appconfig-feature-flag-cdk":                                                 motoFunction,
	"sp-cloudwatch-logs-to-splunk-using-lambda-kinesis":                             apart,
	"sp-fargate-cdk-cdk":                                                            images,
	"sp-fargate-dynamodb-cdk-cdk":                                                   images,
	"sp-fargate-eventbridge-cdk-cdk":                                                images,
	"sp-fargate-s3-cdk-cdk":                                                         images,
	"sp-fargate-sns-cdk-cdk":                                                        images,
	"sp-fargate-sns-sqs-cdk-cdk":                                                    images,
	"sp-lambda-web-adapter-cdk-cdk":                                                 extension,
	"sp-s3-eventbridge-fargate-cdk":                                                 images,
	"sp-waf-agentcore-gateway-bedrock-cdk-cdk":                                      schema,
	"sp-waf-cloudfront-ai-monetization-cdk":                                         schema,
}

// The reasons.
const (
	images          = "container images are not in the corpus"
	motoBuild       = "moto refuses build projects whose source or artifacts are a pipeline's, or that have none"
	content         = "code or definitions are in buckets of others, or made by custom resources"
	outside         = "templates or parameters name resources outside of the assembly"
	mistakes        = "a template names resources that it does not have, which CloudFormation refuses, too"
	sameName        = "two of its stacks make a policy of the same name"
	acl             = "AWS refuses its ACL, made before buckets had owners"
	snapshot        = "databases are to be deleted with a final snapshot, which is not taken yet"
	schema          = "properties that the embedded schemas do not have, so that Cloud Control's emulator refuses them"
	apart           = "moto does not know a stream that Cloud Control made"
	ipam            = "Cloud Control's emulator gives a VPC no block from a pool"
	balancers       = "names of load balancers that Cloud Control's emulator makes up have another form"
	amis            = "moto has no such public AMI parameter"
	motoParameters  = "moto does not know a parameter group that Cloud Control made"
	motoStageKeys   = "moto answers CreateApiKey with stages by what the SDK cannot read"
	motoDocuments   = "moto has no DocumentDB"
	extension       = "moto does not know the layers of other accounts"
	motoRuntime     = "moto has no PutRuntimeManagementConfig"
	motoConcurrency = "moto has no PutProvisionedConcurrencyConfig"
	motoProtection  = "moto answers 500 to PutDataProtectionPolicy"
	motoComposite   = "moto has no PutCompositeAlarm"
	motoInsights    = "moto answers 500 to UpdateContributorInsights"
	motoImport      = "moto answers 500 to PutRestApi"
	motoWebhook     = "moto answers 500 to CreateWebhook"
	motoGroup       = "moto answers 500 to CreateAutoScalingGroup"
	motoAppSync     = "moto has no AppSync data sources and variables, and its API keys cannot be read"
	motoIdentity    = "moto has no CreateCloudFrontOriginAccessIdentity"
	motoFunction    = "moto answers 500 to CreateFunction"
)
