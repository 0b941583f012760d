//! Pages that a server wants the user to visit. The user decides, and has to see where a page leads.

use windlass::link::http::{Url, UrlError};

/// Characters of an address that is shown. Longer ones cannot be judged by looking at them.
const LONGEST: usize = 4_096;

/// How to ask the user to visit a page; why not, if it is one that nobody is to be asked about.
pub(crate) fn invitation(address: &str) -> Result<String, String> {
    let address = address.trim_ascii();
    let refused = |why: &str| Err(format!("declined, because {why}"));
    if address.len() > LONGEST {
        return refused("the address of the page that it wants to be visited is too long to be judged");
    }
    let url = match Url::parse(address) {
        Ok(url) if address.bytes().all(|byte| byte.is_ascii_graphic()) => url,
        Err(UrlError::Scheme) => return refused("what it wants to be visited is no page of the web (https://…)"),
        Err(UrlError::Credentials) => {
            return refused(
                "the page that it wants to be visited has a name before its host, which hides where it leads",
            );
        }
        Err(UrlError::Host) => {
            return refused("the page that it wants to be visited has a host that is not written in ASCII");
        }
        _ => return refused("what it wants to be visited is no valid address"),
    };
    let mut invitation = format!("it wants you to visit a page on {}\n  {address}\n", url.authority());
    if !url.is_secure() {
        invitation += "  take care: it is not encrypted (http), so whoever is in between can read and change it\n";
    }
    if url.host().split('.').any(|label| label.starts_with("xn--")) {
        invitation += "  take care: the name of the host has foreign letters (xn--) and may look like another one\n";
    }
    Ok(invitation + "do you agree? yes or no> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_shown_plainly() {
        let shown = invitation("https://Example.com:8443/login?next=https://bank.example#x").unwrap();
        assert!(
            shown.starts_with("it wants you to visit a page on example.com:8443\n  https://Example.com"),
            "{shown}"
        );
        assert!(!shown.contains("take care"), "{shown}");
        assert!(invitation("http://example.com/").unwrap().contains("not encrypted"));
        assert!(invitation("https://xn--pple-43d.com/").unwrap().contains("foreign letters"));
    }

    #[test]
    fn what_is_no_page_of_the_web_is_refused() {
        for (address, why) in [
            ("file:///etc/passwd", "no page of the web"),
            ("javascript:alert(1)", "no page of the web"),
            ("data:text/html,x", "no page of the web"),
            ("https://bank.example@evil.example/", "before its host"),
            ("https://аpple.com/", "not written in ASCII"),
            ("https://example.com/\u{202e}", "no valid address"),
            ("https://example.com/#\u{202e}", "no valid address"),
            ("https://example.com/ x", "no valid address"),
        ] {
            assert!(invitation(address).unwrap_err().contains(why), "{address}: {:?}", invitation(address));
        }
        assert!(invitation(&format!("https://h/{}", "a".repeat(5_000))).unwrap_err().contains("too long"));
    }
}
