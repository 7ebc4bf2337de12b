//! Errors as the services word them.

use hyper::Response;
use hyper::http::response::Builder;

/// How AWS says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Denied,
    Throttled,
}

/// The answer to a call of AWS in the protocol of its service. `denied` is the action that is
/// denied: the call's own, or one that it takes besides.
pub(super) fn refuse(called: &str, denied: &str, refusal: Refusal) -> Response<String> {
    let service = called.split(':').next().unwrap_or_default();
    let message = match refusal {
        Refusal::Denied => format!(
            "User: arn:aws:sts::123456789012:assumed-role/rig/rig is not authorized to perform: {denied} because no \
             identity-based policy allows the {denied} action"
        ),
        Refusal::Throttled => "Rate exceeded".to_owned(),
    };
    let answer = |status: u16, content_type: &str| {
        Response::builder().status(status).header("content-type", content_type)
    };
    match service {
        "ec2" => {
            let (status, code) = match refusal {
                Refusal::Denied => (403, "UnauthorizedOperation"),
                Refusal::Throttled => (503, "RequestLimitExceeded"),
            };
            let body = format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>{code}</Code>\
                 <Message>{message}</Message></Error></Errors><RequestID>rig</RequestID></Response>"
            );
            with(answer(status, "text/xml;charset=UTF-8"), body)
        }
        "iam" | "sts" => {
            let (status, code) = match refusal {
                Refusal::Denied => (403, "AccessDenied"),
                Refusal::Throttled => (400, "Throttling"),
            };
            let body = format!(
                "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>\
                 <RequestId>rig</RequestId></ErrorResponse>"
            );
            with(answer(status, "text/xml"), body)
        }
        "eks" => {
            let (status, code) = match refusal {
                Refusal::Denied => (403, "AccessDeniedException"),
                Refusal::Throttled => (429, "ThrottlingException"),
            };
            let body = serde_json::json!({ "message": message }).to_string();
            with(answer(status, "application/json").header("x-amzn-errortype", code), body)
        }
        _ => {
            let code = match refusal {
                Refusal::Denied => "AccessDeniedException",
                Refusal::Throttled => "ThrottlingException",
            };
            let body = serde_json::json!({ "__type": code, "message": message }).to_string();
            with(answer(400, "application/x-amz-json-1.1"), body)
        }
    }
}

/// The only event of a watch from a version that is no longer kept (`410 Gone`).
pub(super) fn expired() -> String {
    let status = serde_json::json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "too old resource version",
        "reason": "Expired",
        "code": 410,
    });
    format!("{}\n", serde_json::json!({ "type": "ERROR", "object": status }))
}

/// A watch that has nothing but that event.
pub(super) fn expired_watch() -> Response<String> {
    with(Response::builder().status(200).header("content-type", "application/json"), expired())
}

fn with(builder: Builder, body: String) -> Response<String> {
    // Status and headers are fixed above; a builder fails on malformed ones only.
    builder.body(body).unwrap_or_default()
}
