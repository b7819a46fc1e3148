"""From an HTTP request to a call, and from what comes of it to an HTTP answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote

from karpenter.sim.ec2.codec import jsonbody, query, xml
from karpenter.sim.ec2.codec.messages import AwsError, Call, Caller, Value, WireAnswer, WireRequest
from karpenter.sim.ec2.models import SERVICES, service_model

if TYPE_CHECKING:
    from botocore.model import OperationModel, ServiceModel

_SIGNATURE: Final = re.compile(r"Credential=(?P<key>[^/]+)/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")
_UNSIGNED: Final = "sts"
"""The one service with operations for callers who have no key yet."""
_XML: Final = "text/xml;charset=UTF-8"


def read_call(request: WireRequest) -> Call:
    """Return what a request asks for.

    Raises:
        AwsError: it is not signed, or asks for what there is not.
    """
    service, caller = _signer(request)
    model = service_model(service)
    match protocol(service):
        case "json":
            operation = _operation(model, request.headers.get("X-Amz-Target", "").rpartition(".")[2])
            params = jsonbody.read_body(request.body, operation.input_shape)
        case "rest-json":
            operation, places = _route(model, request)
            params = jsonbody.read_body(request.body, operation.input_shape) | places
        case kind:
            form = query.parse_form(request.body)
            operation = _operation(model, form.get("Action", ""))
            shape = operation.input_shape
            params = query.read_params(form, shape, is_ec2=kind == "ec2") if shape is not None else {}
    return Call(service, operation.name, params, caller)


def service_of(request: WireRequest) -> str:
    """Return the service a request is for; EC2 when nobody can say. For errors, which are written its way."""
    try:
        return _signer(request)[0]
    except AwsError:
        return "ec2"


def protocol(service: str) -> str:
    """Return which protocol a service speaks: `ec2`, `query`, `json` or `rest-json`."""
    return str(service_model(service).metadata["protocol"])


def write_result(call: Call, result: Mapping[str, Value], request_id: str) -> WireAnswer:
    """Return the answer to a call that went well."""
    model = service_model(call.service).operation_model(call.operation)
    match protocol(call.service):
        case "ec2":
            return WireAnswer(xml.write_ec2(model, result, request_id), _XML)
        case "query":
            return WireAnswer(xml.write_query(model, result, request_id), _XML)
        case kind:
            body = jsonbody.write_body(result, model.output_shape)
            return WireAnswer(body, _json_type(call.service, kind), headers={"x-amzn-RequestId": request_id})


def write_error(service: str, error: AwsError, request_id: str) -> WireAnswer:
    """Return the answer to a call that failed."""
    match protocol(service):
        case "ec2":
            return WireAnswer(xml.write_ec2_error(error, request_id), _XML, error.status)
        case "query":
            return WireAnswer(xml.write_query_error(error, request_id), _XML, error.status)
        case kind:
            headers = {"x-amzn-RequestId": request_id, "x-amzn-errortype": error.code}
            if error.query_code:
                headers["x-amzn-query-error"] = f"{error.query_code};Sender"
            body = jsonbody.write_error_body(error)
            return WireAnswer(body, _json_type(service, kind), error.status, headers)


def _json_type(service: str, kind: str) -> str:
    version = service_model(service).metadata.get("jsonVersion", "1.1")
    return "application/json" if kind == "rest-json" else f"application/x-amz-json-{version}"


def _signer(request: WireRequest) -> tuple[str, Caller | None]:
    signature = _SIGNATURE.search(request.headers.get("Authorization", ""))
    if signature is None:
        if b"Action=AssumeRoleWithWebIdentity" in request.body:
            return _UNSIGNED, None
        raise AwsError("MissingAuthenticationToken", "Request is missing Authentication Token", status=403)
    if signature["service"] not in SERVICES:
        raise AwsError("InvalidAction", f"the simulated account has no service {signature['service']!r}")
    return signature["service"], Caller(signature["key"], signature["region"])


def _operation(model: ServiceModel, name: str) -> OperationModel:
    if name not in model.operation_names:
        raise AwsError("InvalidAction", f"The action {name} is not valid for this web service.")
    return model.operation_model(name)


def _route(model: ServiceModel, request: WireRequest) -> tuple[OperationModel, dict[str, Value]]:
    """Return the operation that a path and method stand for, and the parameters in path and query."""
    for method, pattern, name in _routes(model.service_name):
        found = pattern.fullmatch(request.path)
        if found is None or method != request.method:
            continue
        operation = model.operation_model(name)
        places = {key: unquote(value) for key, value in found.groupdict().items()}
        given = dict(parse_qsl(request.query))
        shape = operation.input_shape
        for member, inner in shape.members.items() if shape is not None else ():
            if inner.serialization.get("location") == "querystring" and inner.serialization.get("name") in given:
                text = given[str(inner.serialization["name"])]
                places[member] = query.scalar(text, inner.type_name, member)
        return operation, places
    raise AwsError("UnknownOperationException", f"nothing answers to {request.method} {request.path}", status=404)


@lru_cache(maxsize=len(SERVICES))
def _routes(service: str) -> tuple[tuple[str, re.Pattern[str], str], ...]:
    model = service_model(service)
    routes = []
    for name in model.operation_names:
        operation = model.operation_model(name)
        members = operation.input_shape.members if operation.input_shape is not None else {}
        names = {str(shape.serialization.get("name", member)): member for member, shape in members.items()}
        template = str(operation.http["requestUri"]).partition("?")[0]
        pattern = re.sub(r"\\\{(\w+)\\\}", lambda found: f"(?P<{names[found[1]]}>[^/]+)", re.escape(template))  # noqa: B023 - used at once
        routes.append((str(operation.http["method"]), re.compile(pattern), name))
    return tuple(routes)
