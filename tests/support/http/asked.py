"""Calls HTTP applications without a listener."""

from rebalance_agent.http.messages import Request

__all__ = ["ask", "joined"]


def ask(app, target, method="GET", body=b"", **headers):
    """Status, headers (with the content type) and body of an answer; ``headers``: the request's, with underscores."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = app(Request(method, target, sent, body))
    shown = {"Content-Type": answer.content_type, **dict(answer.headers)}
    return int(answer.status.split()[0]), shown, joined(answer.body)


def joined(body):
    """Return a body, which may be in pieces, as bytes."""
    return b"".join(body) if isinstance(body, list) else body
