//! Users who log in in a browser.

use crate::world::{ISSUER, World, code_grant};

#[test]
fn users_log_in_and_calls_go_on() {
    for is_modern in [true, false] {
        let mut world = World::new();
        world.server.is_modern = is_modern;
        let agent = world.connect(code_grant());
        world.is_ready(agent);
        assert!(world.calls(agent, "now").is_ok());
        let at = |path: &str| format!("{ISSUER}{path}");
        assert_eq!(
            world.asked,
            [
                "GET https://mcp.example/.well-known/oauth-protected-resource/mcp".to_string(),
                format!("GET {}", at("/.well-known/oauth-authorization-server")),
                format!("POST {}", at("/register")),
                format!("POST {}", at("/token")),
            ]
        );
        assert_eq!(world.issuers[0].asked, ["metadata", "register", "authorize", "token authorization_code"]);
        assert_eq!(world.server.count("tools/call"), 1);
        world.close_all();
    }
}
