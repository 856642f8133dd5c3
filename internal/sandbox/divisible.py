"""moto_server, which can be divided: asked to, it forks, and the copy answers
at an address of its own from what there was. Copies are what a snapshot is.
"""

import os
import signal
import threading

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

moto = DomainDispatcherApplication(create_backend_app)
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
