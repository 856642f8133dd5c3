# Answers a CloudFormation custom resource request. Added to inline code that
# imports cfnresponse, as CloudFormation does.
import json
import urllib.request

SUCCESS = "SUCCESS"
FAILED = "FAILED"


def send(event, context, responseStatus, responseData, physicalResourceId=None, noEcho=False, reason=None):
    stream = getattr(context, "log_stream_name", None)
    answer = {
        "Status": responseStatus,
        "Reason": reason or "Details are in the log stream %s" % stream,
        "PhysicalResourceId": physicalResourceId or stream,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "NoEcho": noEcho,
        "Data": responseData,
    }
    request = urllib.request.Request(
        event["ResponseURL"],
        data=json.dumps(answer).encode(),
        method="PUT",
        headers={"Content-Type": ""},
    )
    try:
        with urllib.request.urlopen(request) as response:
            print("Answer to CloudFormation:", response.status)
    except Exception as error:
        print("The answer to CloudFormation could not be sent:", error)
