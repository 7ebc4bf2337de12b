//! Rebuilds the embedded catalogue from what EC2's command line prints:
//!
//! ```text
//! aws ec2 describe-instance-types --region us-east-1 > types.json
//! aws ec2 describe-instance-type-offerings --location-type availability-zone \
//!     --region us-east-1 > us-east-1.json
//! cargo run -p outrigger-catalog --example embed -- types.json us-east-1.json …
//! ```
//!
//! Any number of files, of either kind; several regions' types are merged. Types that EC2 no longer
//! lists are added from `data/older-types.json`, prices and the like from the other tables there.
//! Writes `data/instance-types.tsv` and `data/regions.tsv` of this crate.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use catalog::describe::{self, Answer, OtherFigures};
use catalog::figures::Figures;
use catalog::{region, table};

fn main() -> Result<(), Box<dyn Error>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let answer = |path: &Path| -> Result<Answer, Box<dyn Error>> {
        Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
    };
    let figures = |file: &'static str| -> Result<Figures, Box<dyn Error>> {
        Ok(Figures::parse(file, &fs::read_to_string(data.join(file))?)?)
    };
    let others = OtherFigures {
        prices: &figures("on-demand-prices.tsv")?,
        branch_interfaces: &figures("branch-interfaces.tsv")?,
        bandwidths: &figures("network-bandwidth.tsv")?,
    };
    let mut answers = env::args_os()
        .skip(1)
        .map(|path| answer(Path::new(&path)))
        .collect::<Result<Vec<Answer>, _>>()?;
    if describe::facts(&answers, others).is_empty() {
        return Err("no file has InstanceTypes: give what describe-instance-types prints".into());
    }
    // First, so that what EC2 says now replaces it.
    answers.insert(0, answer(&data.join("older-types.json"))?);
    let facts = describe::facts(&answers, others);
    let regions = describe::regions(&answers, &facts);
    fs::write(data.join("instance-types.tsv"), table::encode(&facts))?;
    fs::write(data.join("regions.tsv"), region::encode(&regions))?;
    Ok(())
}
