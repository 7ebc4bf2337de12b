//! EC2 and the price list of AWS, as far as a catalogue needs them, and a table of DynamoDB, as far
//! as records of spot offerings do, over HTTP.

use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

/// What the double does with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// It answers all.
    All,
    /// It denies the call of this name.
    AllBut(&'static str),
    /// It denies everything.
    Nothing,
}

/// A server that runs until the tests end, the names of the calls that it got, and the items of its
/// table.
pub(crate) struct Aws {
    pub(crate) url: String,
    pub(crate) calls: Arc<Mutex<Vec<String>>>,
    pub(crate) items: Arc<Mutex<Vec<Value>>>,
}

impl Aws {
    pub(crate) fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::new(Mutex::new(Vec::new()));
        let items = Arc::new(Mutex::new(Vec::new()));
        let (seen, stored) = (Arc::clone(&calls), Arc::clone(&items));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, stored) = (Arc::clone(&seen), Arc::clone(&stored));
                std::thread::spawn(move || serve(stream, answers, &seen, &stored));
            }
        });
        Self { url, calls, items }
    }

    /// How many calls it got so far.
    pub(crate) fn called(&self) -> usize {
        self.calls.lock().unwrap().len()
    }
}

fn serve(
    stream: TcpStream,
    answers: Answers,
    calls: &Mutex<Vec<String>>,
    items: &Mutex<Vec<Value>>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some((call, body)) = request(&mut reader) {
        let is_denied = match answers {
            Answers::All => false,
            Answers::AllBut(name) => name == call,
            Answers::Nothing => true,
        };
        let (code, kind, answer) = match is_denied {
            true if matches!(&*call, "GetProducts" | "Query") => {
                let denied = json!({"__type": "AccessDeniedException", "message": "not allowed"});
                (400, "application/x-amz-json-1.1", denied.to_string())
            }
            true => (
                403,
                "text/xml",
                "<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>You are not \
                 authorized</Message></Error></Errors><RequestID>r</RequestID></Response>"
                    .to_owned(),
            ),
            false if matches!(&*call, "UpdateItem" | "Query") => {
                (200, "application/x-amz-json-1.0", of_table(&call, &body, items))
            }
            false => answer(&call, &body),
        };
        calls.lock().unwrap().push(call);
        let head = format!(
            "HTTP/1.1 {code} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        if stream.write_all(format!("{head}{answer}").as_bytes()).is_err() {
            return;
        }
    }
}

/// The name of a call, and its body.
fn request(reader: &mut impl BufRead) -> Option<(String, String)> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let (mut length, mut target) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "x-amz-target" => target = value.trim().split('.').next_back().map(str::to_owned),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).unwrap();
    let action = body.split('&').find_map(|part| part.strip_prefix("Action=").map(str::to_owned));
    Some((target.or(action).unwrap_or_default(), body))
}

/// A table that sets whatever an update says, whatever the condition, and answers with everything.
fn of_table(call: &str, body: &str, items: &Mutex<Vec<Value>>) -> String {
    let mut items = items.lock().unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["TableName"], "outrigger");
    if call == "Query" {
        return json!({"Items": *items, "Count": items.len(), "ScannedCount": items.len()})
            .to_string();
    }
    let mut item: Map<String, Value> = body["Key"].as_object().unwrap().clone();
    for (name, value) in body["ExpressionAttributeValues"].as_object().unwrap() {
        if let Some(name) = name.strip_prefix(":new_") {
            item.insert(name.to_owned(), value.clone());
        }
    }
    items.push(Value::Object(item));
    "{}".to_owned()
}

fn answer(call: &str, body: &str) -> (u16, &'static str, String) {
    let xml = |inner: &str| {
        let text = format!(
            "<{call}Response xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\
             <requestId>r</requestId>{inner}</{call}Response>"
        );
        (200, "text/xml", text)
    };
    match call {
        "DescribeInstanceTypes" => xml(&format!(
            "<instanceTypeSet>{}{}</instanceTypeSet>",
            described("m7i.large", 2, 8192),
            described("m7i.2xlarge", 8, 32768)
        )),
        "DescribeInstanceTypeOfferings" => xml(&format!(
            "<instanceTypeOfferingSet>{}{}</instanceTypeOfferingSet>",
            offered("m7i.large"),
            offered("m7i.2xlarge")
        )),
        "DescribeSpotPriceHistory" => xml(&format!(
            "<spotPriceHistorySet>{}{}</spotPriceHistorySet>",
            spot("m7i.large", "0.040100"),
            spot("m7i.2xlarge", "0.160300")
        )),
        "GetProducts" => {
            let products = if body.contains("\"Shared\"") {
                vec![product("m7i.large", "0.1010"), product("m7i.2xlarge", "0.4040")]
            } else {
                Vec::new()
            };
            let answer = json!({"FormatVersion": "aws_v1", "PriceList": products});
            (200, "application/x-amz-json-1.1", answer.to_string())
        }
        other => panic!("{other} is not expected"),
    }
}

fn described(name: &str, vcpus: u32, memory_mib: u32) -> String {
    format!(
        "<item><instanceType>{name}</instanceType><currentGeneration>true</currentGeneration>\
         <supportedUsageClasses><item>on-demand</item><item>spot</item></supportedUsageClasses>\
         <supportedVirtualizationTypes><item>hvm</item></supportedVirtualizationTypes>\
         <bareMetal>false</bareMetal><hypervisor>nitro</hypervisor><processorInfo>\
         <supportedArchitectures><item>x86_64</item></supportedArchitectures>\
         <sustainedClockSpeedInGhz>3.2</sustainedClockSpeedInGhz><manufacturer>Intel</manufacturer>\
         </processorInfo><vCpuInfo><defaultVCpus>{vcpus}</defaultVCpus></vCpuInfo>\
         <memoryInfo><sizeInMiB>{memory_mib}</sizeInMiB></memoryInfo><networkInfo>\
         <networkPerformance>Up to 12.5 Gigabit</networkPerformance><networkCards><item>\
         <networkCardIndex>0</networkCardIndex>\
         <maximumNetworkInterfaces>4</maximumNetworkInterfaces>\
         <baselineBandwidthInGbps>0.781</baselineBandwidthInGbps></item></networkCards>\
         <ipv4AddressesPerInterface>15</ipv4AddressesPerInterface></networkInfo></item>"
    )
}

fn offered(name: &str) -> String {
    format!(
        "<item><instanceType>{name}</instanceType><locationType>availability-zone</locationType>\
         <location>us-east-1a</location></item>"
    )
}

fn spot(name: &str, price: &str) -> String {
    format!(
        "<item><instanceType>{name}</instanceType><productDescription>Linux/UNIX\
         </productDescription><spotPrice>{price}</spotPrice>\
         <timestamp>2026-01-01T10:00:00.000Z</timestamp>\
         <availabilityZone>us-east-1a</availabilityZone></item>"
    )
}

fn product(name: &str, dollars: &str) -> String {
    json!({
        "product": {"productFamily": "Compute Instance", "sku": "S", "attributes": {
            "instanceType": name, "regionCode": "us-east-1", "operatingSystem": "Linux",
            "preInstalledSw": "NA", "tenancy": "Shared", "capacitystatus": "Used",
            "marketoption": "OnDemand",
        }},
        "terms": {"OnDemand": {"S.O": {"priceDimensions": {
            "S.O.R": {"unit": "Hrs", "pricePerUnit": {"USD": dollars}},
        }}}},
        "publicationDate": "2026-01-01T00:00:00Z",
    })
    .to_string()
}
