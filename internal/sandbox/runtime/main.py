"""Runs one invocation of a Lambda function: the event comes on standard input,
the result goes to the file named by SANDBOX_RESULT."""
import importlib
import json
import os
import sys
import time


class Context:
    function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
    function_version = "$LATEST"
    invoked_function_arn = os.environ["SANDBOX_FUNCTION_ARN"]
    memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
    aws_request_id = os.environ["SANDBOX_REQUEST_ID"]
    log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
    log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
    end = time.monotonic() + float(os.environ["SANDBOX_TIMEOUT"])

    def get_remaining_time_in_millis(self):
        return int(1000 * (self.end - time.monotonic()))


def run():
    sys.path.insert(0, os.getcwd())
    module, _, function = os.environ["_HANDLER"].rpartition(".")
    handler = getattr(importlib.import_module(module.replace("/", ".")), function)
    return handler(json.load(sys.stdin), Context())


try:
    result = {"payload": run()}
    text = json.dumps(result)
except BaseException as e:  # also SystemExit is the function's failure
    text = json.dumps({"errorType": type(e).__name__, "errorMessage": str(e)})
with open(os.environ["SANDBOX_RESULT"], "w") as out:
    out.write(text)
