//! What the file of a server is called.

use hmac_sha256::Hash;

/// How much of a host is shown: names of files may have 255 bytes, and people read the beginning.
const SHOWN: usize = 48;
/// How much of the hash is kept: nobody finds two addresses that share sixteen bytes of it.
const HASHED: usize = 16;

/// A name for what is kept for the server at this address, without an ending: its host, for people, and a hash of all of it.
/// It has letters, digits, dots, underscores and hyphens alone, for the address may come from anybody.
pub(super) fn file_name(server: &str) -> String {
    let behind_scheme = server.split_once("://").map_or(server, |(_, rest)| rest);
    let authority = behind_scheme.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    // In front of the host may be a password.
    let host = authority.rsplit('@').next().unwrap_or_default();
    let shown: String = host.chars().take(SHOWN).map(plain).collect();
    let mut name = shown.trim_start_matches(['.', '-']).to_owned();
    name.push('-');
    for byte in &Hash::hash(server.as_bytes())[..HASHED] {
        name.push_str(&format!("{byte:02x}"));
    }
    name
}

fn plain(letter: char) -> char {
    match letter {
        'a'..='z' | '0'..='9' | '.' | '-' => letter,
        'A'..='Z' => letter.to_ascii_lowercase(),
        _ => '_',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_can_be_read() {
        let name = file_name("https://MCP.example.com:8443/mcp?tenant=1");
        assert!(name.starts_with("mcp.example.com_8443-"), "{name}");
        assert_eq!(name.len(), "mcp.example.com_8443-".len() + 2 * HASHED);
    }

    #[test]
    fn every_part_of_an_address_counts() {
        let addresses =
            ["https://a.example/mcp", "https://a.example/mcp/", "https://a.example/", "http://a.example/mcp"];
        let names: std::collections::BTreeSet<_> = addresses.into_iter().map(file_name).collect();
        assert_eq!(names.len(), addresses.len());
    }

    #[test]
    fn nothing_leads_elsewhere_nor_shows_a_password() {
        let long = format!("https://{}/", "a.".repeat(5000));
        let hostile = [
            "",
            "..",
            "../../etc/passwd",
            "https://../x",
            "https://..\\..\\x",
            "\0",
            "-rf",
            "é".repeat(999).as_str(),
            &long,
        ]
        .map(file_name);
        for name in hostile {
            assert!(name.len() <= SHOWN + 1 + 2 * HASHED, "{name}");
            assert!(!name.starts_with('.'), "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)), "{name}");
        }
        let name = file_name("https://user:hunter2@a.example/?key=hunter2");
        assert!(name.starts_with("a.example-") && !name.contains("hunter2"), "{name}");
    }
}
