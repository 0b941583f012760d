//! A user's browser, as far as the suite needs one: it opens the page and does not follow where it is sent back to.

use std::io::{Read, Write};
use std::net::TcpStream;

use windlass::auth::Redirected;
use windlass::link::http::Url;

/// Where the suite's servers send users back to. Nobody listens there.
pub(crate) const CALLBACK: &str = "http://localhost:3000/callback";

/// Opens a page, and gives back what is in the address that it redirects to.
pub(crate) fn visit(page: &str) -> Result<Redirected, Box<dyn std::error::Error>> {
    let url = Url::parse(page)?;
    let mut stream = TcpStream::connect((url.host(), url.port()))?;
    write!(stream, "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", url.target(), url.authority())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let location = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    Ok(Redirected::from_url(&location.ok_or_else(|| format!("the page does not redirect: {answer}"))?))
}
