//! The `InstanceCatalog` document: instance types written out by hand, or by `outrigger catalog`.
//!
//! The format is part of the command line's contract: `spec.region` (optional), `spec.zoneIds`
//! (optional, id by zone name), `spec.pricing` (optional, with `source`, `spotSource` and `asOf`)
//! and `spec.instanceTypes`, each with its labels, capacity, allocatable and offerings. YAML and
//! JSON are read alike. A type's `allocatable` defaults to its capacity, an offering's `available`
//! to true. Fields that a type or an offering does not have are refused: a misspelt `available`
//! would otherwise sell capacity that is not there.

mod field;
mod header;
mod write;

use std::collections::BTreeMap;

use documents::{Data, Document, Source, Syntax, SyntaxError, Value, documents, yaml_documents};
use domain::Text;
use domain::instance_type::{
    CapacityType, InstanceType, InstanceTypeList, InstanceTypes, Offering, PriceSource, Pricing,
    Reservation,
};
use domain::label;
use domain::resource::Resources;

use crate::error::{CatalogError, FieldProblem};
use crate::price;
use crate::text::Texts;
use field::{Members, Path, Place};

pub use header::{API_VERSION, KIND};
pub use write::{InstanceCatalog, write};

/// Reads a document from YAML or JSON text.
pub fn read(text: &str) -> Result<InstanceTypes, CatalogError> {
    let source = Source::new("", text);
    let document = single_document(documents(&source));
    let document = match document {
        // JSON is YAML too, and YAML takes more: a trailing comma, a value without quotes.
        Err(error @ CatalogError::Malformed { syntax: Syntax::Json, .. }) => {
            single_document(yaml_documents(&source)).map_err(|_| error)
        }
        other => other,
    };
    from_value(&document?.value)
}

fn single_document(
    documents: Vec<Result<Document<'_>, SyntaxError>>,
) -> Result<Document<'_>, CatalogError> {
    let mut documents = documents.into_iter().collect::<Result<Vec<_>, _>>()?;
    match documents.pop() {
        Some(document) if documents.is_empty() => Ok(document),
        last => Err(CatalogError::Documents(documents.len() + usize::from(last.is_some()))),
    }
}

/// Reads a document that is parsed already, such as one inside another file.
///
/// Types come out by name and offerings by zone, capacity type and reservation, whatever the order
/// in the document.
pub fn from_value(document: &Value<'_>) -> Result<InstanceTypes, CatalogError> {
    check_kind(document)?;
    let spec_path = Path::of(Place::Catalog, "spec");
    let spec = match field::member(document, "spec") {
        Some(spec) => spec_path.object(spec)?,
        None => return Err(spec_path.error(FieldProblem::Missing)),
    };
    let mut reader = Reader::default();
    let region = match spec.unless_null("region") {
        None => None,
        Some(region) => Some(Text::from(spec_path.key("region").string(region)?)),
    };
    let pricing = pricing(&spec_path, spec.unless_null("pricing"))?;
    let zone_ids = reader.zone_ids(&spec_path, spec.get("zoneIds"))?;
    let list_path = spec_path.key("instanceTypes");
    let list = match spec.get("instanceTypes") {
        Some(list) => list_path.list(list)?,
        None => return Err(list_path.error(FieldProblem::Missing)),
    };
    let mut types = Vec::with_capacity(list.len());
    for (index, item) in list.iter().enumerate() {
        types.push(reader.instance_type(&list_path.index(index), item)?);
    }
    types.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = types.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(list_path.error(FieldProblem::Duplicate(pair[0].name.to_string())));
    }
    let by_node_class = BTreeMap::new();
    let fargate = Some(price::fargate(region.as_deref().unwrap_or(price::PRICED_REGION)));
    let default = InstanceTypeList::from(types);
    Ok(InstanceTypes { region, pricing, fargate, zone_ids, default, by_node_class })
}

/// `spec.pricing`: what the catalogue says of its prices.
fn pricing(spec: &Path<'_>, value: Option<&Value<'_>>) -> Result<Pricing, CatalogError> {
    let path = spec.key("pricing");
    let Some(value) = value else { return Ok(Pricing::default()) };
    let fields = path.object(value)?;
    let text = |key: &str| fields.unless_null(key).map(|text| path.key(key).string(text));
    let source_of = |key: &str| -> Result<Option<PriceSource>, CatalogError> {
        let Some(word) = text(key).transpose()? else { return Ok(None) };
        word.parse().map(Some).map_err(|_| {
            let (expected, found) = ("listed, estimated or imported", word.to_owned());
            path.key(key).error(FieldProblem::WrongType { expected, found })
        })
    };
    let source = source_of("source")?.unwrap_or_default();
    Ok(Pricing {
        source,
        spot: source_of("spotSource")?.unwrap_or(usual_spot_source(source)),
        as_of: text("asOf").transpose()?.map(Text::from),
    })
}

/// Where spot prices come from unless `spec.pricing.spotSource` says it.
const fn usual_spot_source(source: PriceSource) -> PriceSource {
    match source {
        PriceSource::Imported => PriceSource::Imported,
        PriceSource::Listed | PriceSource::Estimated => PriceSource::Estimated,
    }
}

fn check_kind(document: &Value<'_>) -> Result<(), CatalogError> {
    let text = |key| document.get(key).and_then(Value::as_str).unwrap_or("nothing");
    let (kind, version) = (text("kind"), text("apiVersion"));
    if kind == KIND && version == API_VERSION {
        return Ok(());
    }
    Err(CatalogError::Kind { found: format!("kind {kind} of {version}") })
}

/// Turns values into the domain's types.
#[derive(Default)]
struct Reader {
    texts: Texts,
}

impl Reader {
    fn text(&mut self, text: &str) -> Text {
        self.texts.text(text)
    }

    fn zone_ids(
        &mut self,
        spec: &Path<'_>,
        value: Option<&Value<'_>>,
    ) -> Result<BTreeMap<Text, Text>, CatalogError> {
        let path = spec.key("zoneIds");
        let Some(value) = value else { return Ok(BTreeMap::new()) };
        path.object(value)?
            .iter()
            .map(|(zone, id)| Ok((self.text(zone), path.key(zone).string(id)?.into())))
            .collect()
    }

    fn instance_type(
        &mut self,
        at: &Path<'_>,
        value: &Value<'_>,
    ) -> Result<InstanceType, CatalogError> {
        const FIELDS: &[&str] = &[
            "name",
            "architecture",
            "operatingSystems",
            "labels",
            "capacity",
            "allocatable",
            "offerings",
        ];
        let fields = at.object(value)?;
        let name = match fields.get("name") {
            Some(name) => at.key("name").string(name)?,
            None => return Err(at.key("name").error(FieldProblem::Missing)),
        };
        let place = Place::InstanceType(name);
        Path::check_fields(place, None, &fields, FIELDS)?;
        let capacity_path = Path::of(place, "capacity");
        let capacity = match fields.get("capacity") {
            Some(capacity) => self.resources(&capacity_path, capacity)?,
            None => return Err(capacity_path.error(FieldProblem::Missing)),
        };
        let allocatable = match fields.unless_null("allocatable") {
            None => capacity.clone(),
            Some(value) => self.resources(&Path::of(place, "allocatable"), value)?,
        };
        Ok(InstanceType {
            name: name.into(),
            labels: self.labels(name, &fields)?,
            capacity,
            allocatable,
            offerings: self.offerings(place, fields.unless_null("offerings"))?,
        })
    }

    /// The labels given, and those that the type's name, architecture and systems are.
    fn labels(
        &mut self,
        name: &str,
        fields: &Members<'_>,
    ) -> Result<BTreeMap<Text, Vec<Text>>, CatalogError> {
        let place = Place::InstanceType(name);
        let mut labels = BTreeMap::from([(self.text(label::INSTANCE_TYPE), vec![name.into()])]);
        if let Some(architecture) = fields.get("architecture") {
            let value = Path::of(place, "architecture").string(architecture)?;
            let value = self.text(value);
            labels.insert(self.text(label::ARCH), vec![value]);
        }
        if let Some(systems) = fields.get("operatingSystems") {
            let values = self.label_values(&Path::of(place, "operatingSystems"), systems)?;
            labels.insert(self.text(label::OS), values);
        }
        if let Some(more) = fields.get("labels") {
            let path = Path::of(place, "labels");
            for (key, value) in path.object(more)?.iter() {
                let values = self.label_values(&path.key(key), value)?;
                labels.insert(self.text(label::normalized_key(key)), values);
            }
        }
        Ok(labels)
    }

    /// A string or a list of strings, sorted.
    fn label_values(
        &mut self,
        path: &Path<'_>,
        value: &Value<'_>,
    ) -> Result<Vec<Text>, CatalogError> {
        let Data::List(items) = &value.data else {
            return Ok(vec![self.text(&path.label_value(value)?)]);
        };
        let mut values = items
            .iter()
            .enumerate()
            .map(|(index, item)| Ok(self.text(&path.index(index).label_value(item)?)))
            .collect::<Result<Vec<_>, CatalogError>>()?;
        values.sort();
        values.dedup();
        Ok(values)
    }

    fn resources(&mut self, path: &Path<'_>, value: &Value<'_>) -> Result<Resources, CatalogError> {
        path.object(value)?
            .iter()
            .map(|(name, value)| Ok((self.text(name), path.key(name).amount(name, value)?)))
            .collect()
    }

    fn offerings(
        &mut self,
        place: Place<'_>,
        value: Option<&Value<'_>>,
    ) -> Result<Vec<Offering>, CatalogError> {
        let path = Path::of(place, "offerings");
        let list = match value {
            None => &[],
            Some(value) => path.list(value)?,
        };
        let mut offerings = list
            .iter()
            .enumerate()
            .map(|(index, item)| self.offering(&path.index(index), item))
            .collect::<Result<Vec<_>, _>>()?;
        sort_offerings(&mut offerings);
        Ok(offerings)
    }

    fn offering(&mut self, path: &Path<'_>, value: &Value<'_>) -> Result<Offering, CatalogError> {
        const FIELDS: &[&str] = &[
            "zone",
            "capacityType",
            "hourlyUsd",
            "available",
            "reservationId",
            "reservationCapacity",
            // Shown where a history is given, and remembered in SpotHistories.
            "interruptionsPer100NodeHours",
        ];
        let fields = path.object(value)?;
        Path::check_fields(path.place, Some(path), &fields, FIELDS)?;
        let required =
            |key| fields.get(key).ok_or_else(|| path.key(key).error(FieldProblem::Missing));
        let type_value = required("capacityType")?;
        let type_path = path.key("capacityType");
        let capacity_type = CapacityType::parse(type_path.string(type_value)?)
            .ok_or_else(|| type_path.wrong_type("spot, on-demand or reserved", type_value))?;
        Ok(Offering {
            zone: self.text(path.key("zone").string(required("zone")?)?),
            capacity_type,
            price: path.key("hourlyUsd").price(required("hourlyUsd")?)?,
            available: match fields.unless_null("available") {
                None => true,
                Some(value) => path.key("available").boolean(value)?,
            },
            reservation: reservation(path, &fields, capacity_type)?.map(Box::new),
        })
    }
}

fn reservation(
    path: &Path<'_>,
    fields: &Members<'_>,
    capacity_type: CapacityType,
) -> Result<Option<Reservation>, CatalogError> {
    let remaining = match fields.unless_null("reservationCapacity") {
        None => None,
        Some(value) => Some(path.key("reservationCapacity").count(value)?),
    };
    let id_path = path.key("reservationId");
    match fields.unless_null("reservationId") {
        None if capacity_type == CapacityType::Reserved => {
            Err(id_path.error(FieldProblem::Missing))
        }
        None => Ok(None),
        Some(id) => Ok(Some(Reservation { remaining, ..Reservation::of_id(id_path.string(id)?) })),
    }
}

/// By zone, capacity type, reservation and price: the order in which offerings are always listed.
pub(crate) fn sort_offerings(offerings: &mut [Offering]) {
    offerings.sort_by(|a, b| {
        (&a.zone, a.capacity_type, &a.reservation, a.price).cmp(&(
            &b.zone,
            b.capacity_type,
            &b.reservation,
            b.price,
        ))
    });
}

#[cfg(test)]
mod tests;
