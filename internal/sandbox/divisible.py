"""moto_server, which can be divided: asked to, it forks, and the copy answers
at an address of its own from what there was. Copies are what a snapshot is.

Its creates under a name that is taken do to tags what AWS's do: see CREATES.
It has one Lambda, which runs nothing.
"""

import importlib
import inspect
import os
import signal
import threading

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


def untouched(there, call):
    """Puts what is put, and leaves the tags of what is there as they are."""
    call.arguments["tags"] = None


def answered(there, call):
    """Hands out what is there."""
    return there


def refused(there, call):
    """Hands out what is there to who asks for the tags that it has."""
    tags = call.arguments.get("tags") or {}
    if tags != (there.tags or {}):
        raise importlib.import_module("moto.sqs.exceptions").QueueAlreadyExists("A queue already exists with the same name and different tags")


def named(resources):
    return lambda backend, a: next((r for r in getattr(backend, resources).values() if r.name == a["name"]), None)


# By service, as moto tells them apart: the backend's class, its creates, how what has
# the name is found, and what becomes of it.
CREATES = {
    "sqs": [("sqs.models.SQSBackend", "create_queue", lambda backend, a: backend.queues.get(a["name"]), refused)],
    "ecs": [("ecs.models.EC2ContainerServiceBackend", "create_cluster", lambda backend, a: active(backend.clusters.get(a["cluster_name"])), answered)],
    "events": [("events.models.EventsBackend", "put_rule", lambda backend, a: rule_of(backend, a), untouched)],
    "cloudwatch": [("cloudwatch.models.CloudWatchBackend", "put_metric_alarm", lambda backend, a: backend.alarms.get(a["name"]), untouched)],
    "elb": [  # both generations
        ("elbv2.models.ELBv2Backend", "create_load_balancer", named("load_balancers"), answered),
        ("elbv2.models.ELBv2Backend", "create_target_group", named("target_groups"), answered),
    ],
}


def active(cluster):
    return cluster if cluster and cluster.status == "ACTIVE" else None


def rule_of(backend, a):
    bus = backend.event_buses.get(backend._normalize_event_bus_arn(a.get("event_bus_arn")))
    return bus and bus.rules.get(a["name"])


def like_aws(kind, create, find, then):
    original = getattr(kind, create)
    signature = inspect.signature(original)

    def wrapped(self, *args, **kwargs):
        call = signature.bind(self, *args, **kwargs)
        there = find(self, call.arguments)
        return (there and then(there, call)) or original(*call.args, **call.kwargs)

    setattr(kind, create, wrapped)


def tag_dashboards():
    """moto does not take the tags of a dashboard."""
    responses = importlib.import_module("moto.cloudwatch.responses").CloudWatchResponse
    original = responses.put_dashboard

    def wrapped(self):
        name, backend = self._get_param("DashboardName"), self.cloudwatch_backend
        there, answer = name in backend.dashboards, original(self)
        tags = self._get_param("Tags")
        if tags and not there:
            backend.tagger.tag_resource(backend.dashboards[name].arn, tags)
        return answer

    responses.put_dashboard = wrapped


def backend_app(service):
    app = create_backend_app(service)
    for kind, *create in CREATES.get(service, ()):
        module, _, name = kind.rpartition(".")
        like_aws(getattr(importlib.import_module(f"moto.{module}"), name), *create)
    if service == "cloudwatch":
        tag_dashboards()
    return app


def one_lambda():
    """moto has two Lambdas, with containers and without. Its CloudFormation, and
    whatever looks for layers, know the one with only."""
    lambdas = importlib.import_module("moto.awslambda.models")
    lambdas.LambdaBackend.invoke = lambda self, name, qualifier, body, *headers: (body or "").encode()
    importlib.import_module("moto.awslambda_simple.models").lambda_simple_backends = lambdas.lambda_backends


one_lambda()  # before others take the names
moto = DomainDispatcherApplication(backend_app)
moto.debug = True


class Quiet(WSGIRequestHandler):
    def log_request(self, code="-", size="-"):
        pass


def application(environ, start_response):
    if environ["PATH_INFO"] != "/moto-api/divide":
        return moto(environ, start_response)
    copy = divide()
    start_response("200 OK", [("Content-Length", str(len(copy))), ("Connection", "close")])
    return [copy]


def divide():
    read, write = os.pipe()
    if os.fork() == 0:
        # The other threads are not in the copy, and this one is its main one.
        os.close(read)
        server.socket.close()
        copy = listen()
        os.write(write, f"{os.getpid()} {address_of(copy)}".encode())
        os.close(write)
        try:
            copy.serve_forever()
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        return answer.read()


def listen():
    global server
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Quiet)
    threading.Thread(target=end_with_parent, daemon=True).start()
    return server


def end_with_parent():
    """Ends this process when the one is gone that holds the other end of its input."""
    while os.read(0, 1):
        pass
    os._exit(0)


def address_of(s):
    return f"http://127.0.0.1:{s.port}"


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for copies
    listen()
    print("Running on", address_of(server), flush=True)
    server.serve_forever()
