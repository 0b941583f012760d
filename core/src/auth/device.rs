//! Logging in on another device (RFC 8628).

use alloc::string::String;
use core::time::Duration;

use serde::Deserialize;

use super::AuthPrompt;
use super::token::{self, Seconds, TokenFailure};
use crate::secret::Secret;
use crate::time::Instant;

pub(super) const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// How long to wait between two questions, if the server does not say; what is added if it is asked too often.
const INTERVAL: Duration = Duration::from_secs(5);

/// The longest wait between two questions, whatever the server says.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

/// Letters of a code that are shown. Nobody types more.
const LONGEST_CODE: usize = 200;

/// A login on another device that is under way.
pub(super) struct DeviceLogin {
    pub(super) device_code: Secret,
    user_code: String,
    pub(super) verification_uri: String,
    pub(super) verification_uri_complete: Option<String>,
    /// How long to wait before it is asked whether the user is done.
    pub(super) interval: Duration,
    /// When it is too late.
    pub(super) until: Instant,
}

#[derive(Deserialize)]
struct Answer {
    device_code: Secret,
    user_code: String,
    #[serde(alias = "verification_url")]
    verification_uri: String,
    #[serde(default)]
    verification_uri_complete: Option<String>,
    #[serde(default)]
    expires_in: Option<Seconds>,
    #[serde(default)]
    interval: Option<Seconds>,
}

pub(super) fn read(status: u16, body: &[u8], now: Instant, longest: Duration) -> Result<DeviceLogin, TokenFailure> {
    if !(200..300).contains(&status) {
        return Err(token::failure(status, body));
    }
    let answer: Answer = serde_json::from_slice(body).map_err(|error| token::not_understood(&error))?;
    let duration = |seconds: Option<Seconds>| seconds.and_then(|seconds| seconds.whole()).map(Duration::from_secs);
    let lasts = duration(answer.expires_in).unwrap_or(longest).min(longest);
    let interval = duration(answer.interval).unwrap_or(INTERVAL);
    Ok(DeviceLogin {
        device_code: answer.device_code,
        user_code: shown(&answer.user_code),
        verification_uri: answer.verification_uri,
        verification_uri_complete: answer.verification_uri_complete,
        interval: interval.clamp(Duration::from_secs(1), LONGEST_INTERVAL),
        until: now + lasts,
    })
}

/// A code as it may be shown, wherever that is: people type a dozen letters of it.
fn shown(code: &str) -> String {
    code.chars().filter(|letter| !letter.is_control()).take(LONGEST_CODE).collect()
}

/// Whether it goes on after the server said that there is no token.
pub(super) fn goes_on(error: &str) -> bool {
    matches!(error, "authorization_pending" | "slow_down")
}

/// How it goes on.
pub(super) fn after(error: &str, login: DeviceLogin) -> DeviceLogin {
    if error == "slow_down" { slower(login) } else { login }
}

/// The same, asked after less often.
pub(super) fn slower(login: DeviceLogin) -> DeviceLogin {
    DeviceLogin { interval: (login.interval + INTERVAL).min(LONGEST_INTERVAL), ..login }
}

impl DeviceLogin {
    pub(super) fn prompt(&self) -> AuthPrompt {
        AuthPrompt::Device {
            url: self.verification_uri.clone(),
            complete_url: self.verification_uri_complete.clone(),
            user_code: self.user_code.clone(),
        }
    }
}
