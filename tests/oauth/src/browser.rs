//! A user's browser, as far as logins need one: it keeps cookies, follows redirects, and sends forms off as they are.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use windlass::link::http::Url;

use crate::Outcome;

/// How long one page may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Pages on the way from one to another.
const PAGES: usize = 20;

/// One user's browser.
#[derive(Default)]
pub struct Browser {
    /// By name and path.
    cookies: BTreeMap<(String, String), String>,
}

/// What is shown.
pub struct Page {
    /// Where.
    pub url: Url,
    /// How the server feels about it.
    pub status: u16,
    /// The text.
    pub body: String,
    headers: Vec<(String, String)>,
}

impl Browser {
    /// Opens a page, and goes wherever it leads to.
    ///
    /// # Errors
    ///
    /// When that is nowhere, or no page can be had.
    pub fn visit(&mut self, url: &str) -> Outcome<Page> {
        let mut page = self.open("GET", Url::parse(url)?, None)?;
        for _ in 0..PAGES {
            if let (300..=399, Some(location)) = (page.status, page.header("location")) {
                let next = page.url.join(location)?;
                page = self.open("GET", next, None)?;
            } else if let (200, Some((action, fields))) = (page.status, form(&page.body)) {
                let next = page.url.join(&action)?;
                page = self.open("POST", next, Some(&fields))?;
            } else if page.status == 200 {
                return Ok(page);
            } else {
                return Err(format!("{}: HTTP status {}: {}", page.url, page.status, page.body).into());
            }
        }
        Err(format!("{url} leads nowhere").into())
    }

    fn open(&mut self, method: &str, url: Url, form: Option<&str>) -> Outcome<Page> {
        let cookies: Vec<String> = self
            .cookies
            .iter()
            .filter(|((_, path), _)| url.target().starts_with(path))
            .map(|((name, _), value)| format!("{name}={value}"))
            .collect();
        let cookie = if cookies.is_empty() { String::new() } else { format!("Cookie: {}\r\n", cookies.join("; ")) };
        let page = exchange(method, url, &cookie, form)?;
        for (name, value) in &page.headers {
            if name == "set-cookie" {
                self.keep(value);
            }
        }
        Ok(page)
    }

    fn keep(&mut self, cookie: &str) {
        let mut parts = cookie.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|first| first.split_once('=')) else { return };
        let path = parts.find_map(|part| part.to_ascii_lowercase().starts_with("path=").then(|| part[5..].to_owned()));
        let key = (name.to_owned(), path.unwrap_or_else(|| "/".into()));
        // Those that are to be forgotten come without a value.
        match value {
            "" => drop(self.cookies.remove(&key)),
            _ => drop(self.cookies.insert(key, value.to_owned())),
        }
    }
}

impl Page {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// One request and its answer; `lines` are more lines of its head.
pub(crate) fn exchange(method: &str, url: Url, lines: &str, form: Option<&str>) -> Outcome<Page> {
    let mut stream = TcpStream::connect((url.host(), url.port()))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let body = form.unwrap_or_default();
    let kind = if form.is_some() { "Content-Type: application/x-www-form-urlencoded\r\n" } else { "" };
    write!(
        stream,
        "{method} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{kind}{lines}\r\n{body}",
        url.target(),
        url.authority(),
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| format!("{url} does not answer"))?;
    let mut head = head.lines();
    let status = head.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().parse()?;
    let header =
        |line: &str| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().into()));
    Ok(Page { url, status, headers: head.filter_map(header).collect(), body: body.into() })
}

/// Where the form on a page goes, and what is in it.
fn form(page: &str) -> Option<(String, String)> {
    let (_, form) = page.split_once("<form")?;
    let (form, _) = form.split_once("</form>")?;
    let attribute = |text: &str, name: &str| {
        let (_, rest) = text.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let fields = form.split("<input").skip(1);
    let fields = fields.filter_map(|input| {
        let input = input.split_once('>')?.0;
        Some(format!("{}={}", attribute(input, "name")?, encoded(&attribute(input, "value")?)))
    });
    Some((attribute(form, "action")?, fields.collect::<Vec<_>>().join("&")))
}

/// As forms have it.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
