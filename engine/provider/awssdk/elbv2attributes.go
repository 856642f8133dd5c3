package awssdk

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// elbAttributes is the satellite of a list of keys and values that one call
// sets. Keys that are not mentioned keep their value, so one that was removed
// is set to what the service has without it; those that depend on the kind of
// load balancer are in no table, and stay as they are.
func elbAttributes[A any](property string, defaults map[string]string,
	put func(context.Context, *provider.Request, []A) error, make func(key, value string) A) provider.Satellite {
	return provider.Satellite{
		Properties: []string{property},
		Put: func(ctx context.Context, r *provider.Request) error {
			changes := attributeChanges(provider.TagMap(r.Previous.Value(property)), provider.TagMap(r.Properties.Value(property)), defaults)
			if len(changes) == 0 {
				return nil
			}
			var list []A
			for _, k := range slices.Sorted(maps.Keys(changes)) {
				list = append(list, make(k, changes[k]))
			}
			return put(ctx, r, list)
		},
	}
}

func attributeChanges(old, wanted, defaults map[string]string) map[string]string {
	changes := map[string]string{}
	for k, v := range wanted {
		if was, ok := old[k]; !ok || was != v {
			changes[k] = v
		}
	}
	for k := range old {
		if _, stays := wanted[k]; stays {
			continue
		}
		if v, ok := defaults[k]; ok {
			changes[k] = v
		} else if strings.HasSuffix(k, ".header_value") {
			changes[k] = "" // a header that responses are given
		}
	}
	return changes
}

// What attributes are without being set.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_LoadBalancerAttribute.html
var balancerDefaults = map[string]string{
	"access_logs.s3.enabled":                                   "false",
	"client_keep_alive.seconds":                                "3600",
	"connection_logs.s3.enabled":                               "false",
	"deletion_protection.enabled":                              "false",
	"dns_record.client_routing_policy":                         "any_availability_zone",
	"health_check_logs.s3.enabled":                             "false",
	"idle_timeout.timeout_seconds":                             "60",
	"routing.http.desync_mitigation_mode":                      "defensive",
	"routing.http.drop_invalid_header_fields.enabled":          "false",
	"routing.http.preserve_host_header.enabled":                "false",
	"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": "false",
	"routing.http.xff_client_port.enabled":                     "false",
	"routing.http.xff_header_processing.mode":                  "append",
	"routing.http2.enabled":                                    "true",
	"secondary_ips.auto_assigned.per_subnet":                   "0",
	"waf.fail_open.enabled":                                    "false",
	"zonal_shift.config.enabled":                               "false",
}

// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetGroupAttribute.html
var targetGroupDefaults = map[string]string{
	"deregistration_delay.timeout_seconds":                                           "300",
	"lambda.multi_value_headers.enabled":                                             "false",
	"load_balancing.algorithm.anomaly_mitigation":                                    "off",
	"load_balancing.algorithm.type":                                                  "round_robin",
	"load_balancing.cross_zone.enabled":                                              "use_load_balancer_configuration",
	"proxy_protocol_v2.enabled":                                                      "false",
	"slow_start.duration_seconds":                                                    "0",
	"stickiness.app_cookie.duration_seconds":                                         "86400",
	"stickiness.enabled":                                                             "false",
	"stickiness.lb_cookie.duration_seconds":                                          "86400",
	"target_failover.on_deregistration":                                              "no_rebalance",
	"target_failover.on_unhealthy":                                                   "no_rebalance",
	"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
	"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
	"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
	"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
	"target_health_state.unhealthy.connection_termination.enabled":                   "true",
	"target_health_state.unhealthy.draining_interval_seconds":                        "0",
}

// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_ListenerAttribute.html
var listenerDefaults = map[string]string{
	"routing.http.response.server.enabled": "true",
	"tcp.idle_timeout.seconds":             "350",
}

// healthCheckDefaults are what a target group's health check is without being
// told, which depends on what the group is for.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
func healthCheckDefaults(group *value.Object) map[string]string {
	protocol, check := text(group, "Protocol"), text(group, "HealthCheckProtocol")
	d := map[string]string{
		"HealthCheckEnabled":         "true",
		"HealthCheckIntervalSeconds": "30",
		"HealthCheckPath":            "/",
		"HealthCheckPort":            "traffic-port",
		"HealthCheckProtocol":        "TCP",
		"HealthCheckTimeoutSeconds":  "10",
		"HealthyThresholdCount":      "5",
		"UnhealthyThresholdCount":    "2",
	}
	switch {
	case text(group, "TargetType") == "lambda":
		d["HealthCheckEnabled"], d["HealthCheckIntervalSeconds"], d["HealthCheckTimeoutSeconds"] = "false", "35", "30"
		d["HealthCheckProtocol"] = ""
	case protocol == "HTTP" || protocol == "HTTPS":
		d["HealthCheckProtocol"], d["HealthCheckTimeoutSeconds"] = "HTTP", "5"
		if text(group, "ProtocolVersion") == "GRPC" {
			d["HealthCheckPath"] = "/AWS.ALB/healthcheck"
		}
	case protocol == "GENEVE":
		d["HealthCheckIntervalSeconds"], d["HealthCheckTimeoutSeconds"] = "10", "5"
	case check == "HTTP":
		d["HealthCheckTimeoutSeconds"] = "6"
	}
	if check == "" {
		check = d["HealthCheckProtocol"]
	}
	if check == "TCP" { // looks at no path
		d["HealthCheckPath"] = ""
	}
	return d
}
