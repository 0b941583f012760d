//! The options of `login`, and the plan that they make. Nothing here does anything.

use windlass::auth::Secret;
use windlass::link::http::{Url, redacted};

use crate::invocation::{GivenClient, LoginPlan, LoginWay};

/// Where a browser is sent that is not on this machine. Nobody listens there: the user copies the address that it shows.
/// The port is below those that systems give away, so that nobody is there by accident.
const NOBODY_LISTENS: &str = "http://127.0.0.1:28976/callback";

/// The options of `login`, as far as they were given.
#[derive(Default)]
pub(crate) struct LoginOptions {
    /// Their names, for complaints.
    given: Vec<&'static str>,
    no_browser: bool,
    device: bool,
    client_credentials: bool,
    print_url: bool,
    finish: Option<Secret>,
    redirect_uri: Option<String>,
    client_id: Option<String>,
    client_secret_from: Option<String>,
    client_metadata_url: Option<String>,
    scopes: Vec<String>,
}

/// Those with a value.
const WITH_VALUE: [&str; 6] =
    ["--client-id", "--client-secret-from", "--client-metadata-url", "--scope", "--finish", "--redirect-uri"];

/// Those without.
const FLAGS: [&str; 4] = ["--no-browser", "--device", "--client-credentials", "--print-url"];

impl LoginOptions {
    pub(crate) fn takes_value(name: &str) -> bool {
        WITH_VALUE.contains(&name)
    }

    /// Takes an option with a value.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.given.extend(WITH_VALUE.iter().find(|option| **option == name));
        if value.is_empty() {
            return Err(format!("`{name}` needs a value, and it is empty"));
        }
        match name {
            "--client-id" => self.client_id = Some(value.to_owned()),
            "--client-secret-from" => self.client_secret_from = Some(value.to_owned()),
            "--client-metadata-url" => match Url::parse(value) {
                Ok(url) if url.is_secure() => self.client_metadata_url = Some(value.to_owned()),
                _ => return Err("`--client-metadata-url` takes a URL that begins with https://".into()),
            },
            "--scope" => self.scopes.extend(value.split_ascii_whitespace().map(str::to_owned)),
            "--finish" => self.finish = Some(Secret::new(value)),
            _ => match Url::parse(value) {
                Ok(_) => self.redirect_uri = Some(value.to_owned()),
                Err(error) => return Err(format!("`--redirect-uri` {} cannot be used: {error}", redacted(value))),
            },
        }
        Ok(())
    }

    /// Takes an option without a value, if it is one of these.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let place = match name {
            "--no-browser" => &mut self.no_browser,
            "--device" => &mut self.device,
            "--client-credentials" => &mut self.client_credentials,
            "--print-url" => &mut self.print_url,
            _ => return false,
        };
        *place = true;
        self.given.extend(FLAGS.iter().find(|option| **option == name));
        true
    }

    /// For commands that do not log in.
    pub(crate) fn refuse(&self) -> Result<(), String> {
        match self.given.first() {
            None => Ok(()),
            Some(option) => Err(format!("`{option}` is an option of `login`")),
        }
    }

    pub(crate) fn plan(self) -> Result<LoginPlan, String> {
        let ways = [self.device, self.client_credentials, self.print_url, self.finish.is_some()];
        if ways.into_iter().filter(|way| *way).count() > 1 {
            return Err(
                "only one of `--device`, `--client-credentials`, `--print-url` and `--finish` is possible".into()
            );
        }
        if self.redirect_uri.is_some() && !self.print_url {
            return Err("`--redirect-uri` is an option of `login --print-url`; else this program listens itself".into());
        }
        let way = match self.finish {
            Some(back) => LoginWay::Finish(back),
            None if self.device => LoginWay::Device,
            None if self.client_credentials => LoginWay::ClientCredentials,
            None if self.print_url => {
                LoginWay::PrintUrl { redirect_uri: self.redirect_uri.unwrap_or_else(|| NOBODY_LISTENS.into()) }
            }
            None => LoginWay::Browser { open: !self.no_browser },
        };
        if self.no_browser && !matches!(way, LoginWay::Browser { .. }) {
            return Err("`--no-browser` is not needed: no browser would be opened".into());
        }
        let client = match (self.client_id, self.client_secret_from) {
            (Some(id), secret_from) => Some(GivenClient { id, secret_from }),
            (None, Some(_)) => return Err("`--client-secret-from` goes with `--client-id`".into()),
            (None, None) => None,
        };
        if way == LoginWay::ClientCredentials && client.as_ref().is_none_or(|client| client.secret_from.is_none()) {
            return Err("`--client-credentials` needs `--client-id ID` and `--client-secret-from VARIABLE`".into());
        }
        Ok(LoginPlan { way, client, client_metadata_url: self.client_metadata_url, scopes: self.scopes })
    }
}
