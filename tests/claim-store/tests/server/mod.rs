//! A DynamoDB to test against: the one at `DYNAMODB_ENDPOINT` (the end-to-end rig gives DynamoDB
//! Local), else moto's, where `moto_server` is installed.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use aws::store::Table;

const STARTS_WITHIN: Duration = Duration::from_mins(1);

/// A server, ended with the value if it was started for it.
pub(crate) struct Server {
    endpoint: String,
    child: Option<Child>,
}

impl Server {
    /// `None` where there is none.
    pub(crate) fn at_hand() -> Option<Self> {
        if let Some(endpoint) =
            std::env::var("DYNAMODB_ENDPOINT").ok().filter(|own| !own.is_empty())
        {
            return Some(Self { endpoint, child: None });
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("moto_server")
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let server = Self { endpoint: format!("http://127.0.0.1:{port}"), child: Some(child) };
        Self::wait_until_it_listens(port);
        Some(server)
    }

    fn wait_until_it_listens(port: u16) {
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < STARTS_WITHIN, "moto_server does not listen");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Whether a conditional update is one step, as on DynamoDB. In moto another may come in
    /// between.
    pub(crate) fn has_atomic_updates(&self) -> bool {
        self.child.is_none()
    }

    /// A table that nobody has written to.
    pub(crate) async fn new_table(&self) -> Table {
        let name = format!("outrigger-{}", uuid::Uuid::new_v4().simple());
        let table = Table::local(&self.endpoint, &name);
        table.create().await.unwrap();
        table
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
