//! Who may see what, and what every answer carries.

use std::fmt;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use subtle::ConstantTimeEq;

use super::{PATIENCE, Shown};

/// As browsers and scripts write it, with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What an operator shows to see exact numbers. Never printed.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// The shortest that is taken: 16 letters cannot be guessed.
    pub const SHORTEST: usize = 16;

    /// A token, if it is long enough and plain text.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        (is_plain && text.len() >= Self::SHORTEST).then(|| Self(text.to_owned()))
    }

    /// Whether this is the token; the time it takes tells nothing about where it differs.
    fn is(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

/// Lets operators through: with the token as bearer or as the password of any user, where one is configured.
pub(super) async fn operators_only(
    State(shown): State<Arc<Shown>>,
    request: Request,
    next: Next,
) -> Response {
    if is_operator(&shown, request.headers()) {
        return next.run(request).await;
    }
    let ask = [(header::WWW_AUTHENTICATE, "Basic realm=\"tapveil operators\"")];
    let what = "for operators only: send the token of http.token_file (Authorization: Bearer …, or as a password)\n";
    (StatusCode::UNAUTHORIZED, ask, what).into_response()
}

/// Whether whoever asks is an operator: anybody where no token is configured, because only this machine asks there.
pub(super) fn is_operator(shown: &Shown, headers: &HeaderMap) -> bool {
    let Some(token) = &shown.facts.token else { return true };
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    given.and_then(presented).is_some_and(|given| token.is(&given))
}

/// What `Authorization` presents.
fn presented(value: &str) -> Option<String> {
    match value.split_once(' ')? {
        (kind, token) if kind.eq_ignore_ascii_case("bearer") => Some(token.trim().to_owned()),
        (kind, pair) if kind.eq_ignore_ascii_case("basic") => {
            let pair = String::from_utf8(BASE64.decode(pair.trim()).ok()?).ok()?;
            pair.split_once(':').map(|(_, password)| password.to_owned())
        }
        _ => None,
    }
}

/// On an address that only this machine reaches, a page of another site can make this machine's browser ask, under that
/// site's name. Whoever asks for this machine names this machine.
pub(super) async fn known_host(
    State(is_loopback): State<bool>,
    request: Request,
    next: Next,
) -> Response {
    let given = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    let given = given.or_else(|| request.uri().host()).unwrap_or_default();
    match !is_loopback || names_this_machine(given) {
        true => next.run(request).await,
        false => {
            let what =
                "this is served to this machine alone: ask for localhost, 127.0.0.1 or [::1]\n";
            (StatusCode::MISDIRECTED_REQUEST, what).into_response()
        }
    }
}

/// Whether a `Host`, with its port or without, is a name of this machine's loopback.
fn names_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(name, _)| name),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Nothing from elsewhere is loaded, nothing is framed, and only reading is possible.
pub(super) async fn safe_headers(request: Request, next: Next) -> Response {
    let mut answer = match *request.method() {
        Method::GET | Method::HEAD => next.run(request).await,
        _ => {
            let allow = [(header::ALLOW, "GET, HEAD")];
            let what = "everything here is read-only\n";
            (StatusCode::METHOD_NOT_ALLOWED, allow, what).into_response()
        }
    };
    for (name, value) in [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// An answer that takes too long is given up.
pub(super) async fn in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(PATIENCE, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, "this takes too long; try again\n").into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_loopback_name_this_machine() {
        for host in
            ["localhost", "LOCALHOST:9464", "127.0.0.1:80", "127.8.9.1", "[::1]:9464", "[::1]"]
        {
            assert!(names_this_machine(host), "{host}");
        }
        for host in
            ["evil.example", "evil.example:9464", "127.0.0.1.evil.example", "10.0.0.1:9464", ""]
        {
            assert!(!names_this_machine(host), "{host}");
        }
    }

    #[test]
    fn a_token_is_long_plain_and_never_shown() {
        assert!(Token::new("short").is_none());
        assert!(Token::new("sixteen letters with spaces").is_none());
        let token = Token::new(" abcdefghijklmnop\n").unwrap();
        assert!(token.is("abcdefghijklmnop"));
        assert!(!token.is("abcdefghijklmnoq") && !token.is("abcdefghijklmnopq") && !token.is(""));
        assert_eq!(format!("{token:?}"), "Token(***)");
    }

    #[test]
    fn a_token_comes_as_bearer_or_as_a_password() {
        assert_eq!(presented("Basic dXNlcjphYmM").as_deref(), Some("abc"), "without padding");
        assert_eq!(presented("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(presented("Basic dXNlcjphYmM=").as_deref(), Some("abc"));
        assert_eq!(presented("Basic dXNlcjpwOmFzcw==").as_deref(), Some("p:ass"));
        for other in ["", "abc", "Digest abc", "Basic ***", "Basic dXNlcg=="] {
            assert_eq!(presented(other), None, "{other:?}");
        }
    }
}
