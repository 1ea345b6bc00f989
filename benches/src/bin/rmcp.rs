//! The peer: a server written with rmcp alone, the way its documentation shows it.
//!
//! With `--pipes` it uses rmcp's transport for pipes on a current-thread runtime, its fastest
//! arrangement, instead of the documented `stdio()`.

use std::env;

use rmcp::{
    ServerHandler, ServiceExt,
    handler::server::wrapper::Parameters,
    model::{ServerCapabilities, ServerConfig},
    tool, tool_handler, tool_router,
    transport::{stdio, stdio_pipes},
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    /// What to give back.
    text: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Large {
    /// How many letters.
    size: usize,
}

#[derive(Clone)]
struct Server;

#[tool_router]
impl Server {
    /// Give a text back.
    #[tool]
    async fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> String {
        text
    }

    /// Give back a text of some length.
    #[tool]
    fn large(&self, Parameters(Large { size }): Parameters<Large>) -> String {
        "x".repeat(size)
    }
}

#[tool_handler]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    if env::args().any(|argument| argument == "--pipes") {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(serve_pipes())
    } else {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        runtime.block_on(serve())
    }
}

async fn serve() -> Outcome {
    Server.serve(stdio()).await?.waiting().await?;
    Ok(())
}

async fn serve_pipes() -> Outcome {
    Server.serve(stdio_pipes()).await?.waiting().await?;
    Ok(())
}
