//! The cursor that takes objects apart: typed access to fields, every problem noted with its place.
//!
//! A reader of a kind walks through an object with [`Field`]s and builds a value as it goes; a
//! field that is wrong is noted and stands as absent, so that one pass finds all that is wrong. The
//! value counts only if nothing was noted ([`ObjectReader::finish`]).

use std::cell::{Cell, RefCell};
use std::fmt;
use std::str::FromStr;

use documents::{Data, Origin, Position, Step, Value};
use domain::label::Labels;
use domain::nearest::nearest;
use domain::quantity::Quantity;
use domain::resource::Resources;
use domain::{Text, Timestamp};
use strum::VariantArray;

use crate::error::{ManifestError, Place, Problem, Warning};
use crate::intern::Interner;

/// Most problems, and most warnings, that are listed of one object: finding a problem's place takes
/// time by the size of the object.
const PROBLEMS_MAX: usize = 100;

/// One object while it is read: its tree, what shares its strings, and the problems found so far.
#[derive(Debug)]
pub struct ObjectReader<'v> {
    root: &'v Value<'v>,
    origin: &'v Origin<'v>,
    interner: &'v Interner,
    name: RefCell<Option<String>>,
    errors: RefCell<Vec<ManifestError>>,
    warnings: RefCell<Vec<Warning>>,
    /// Set by the first error, so that objects without errors never borrow the cells.
    is_broken: Cell<bool>,
    /// Whether there are more problems than are listed.
    is_cut: Cell<bool>,
}

impl<'v> ObjectReader<'v> {
    /// Starts to read an object.
    pub fn new(root: &'v Value<'v>, origin: &'v Origin<'v>, interner: &'v Interner) -> Self {
        Self {
            root,
            origin,
            interner,
            name: RefCell::new(None),
            errors: RefCell::new(Vec::new()),
            warnings: RefCell::new(Vec::new()),
            is_broken: Cell::new(false),
            is_cut: Cell::new(false),
        }
    }

    /// Starts to read an object that errors call by the name in its metadata.
    pub(crate) fn named(
        root: &'v Value<'v>,
        origin: &'v Origin<'v>,
        interner: &'v Interner,
    ) -> Self {
        let reader = Self::new(root, origin, interner);
        reader.set_name(name_of(root));
        reader
    }

    /// The cursor at the object itself.
    pub fn root(&'v self) -> Field<'v> {
        Field { reader: self, at: At::Value(self.root) }
    }

    /// What shares equal strings, labels and pod specifications.
    pub const fn interner(&self) -> &'v Interner {
        self.interner
    }

    /// Says what errors call the object: `NAMESPACE/NAME`, or `NAME`.
    pub fn set_name(&self, name: String) {
        *self.name.borrow_mut() = Some(name);
    }

    /// What errors call the object.
    pub(crate) fn name(&self) -> Option<String> {
        self.name.borrow().clone()
    }

    /// The value, if nothing was found wrong; else everything that was. Warnings come with either.
    pub fn finish<T>(self, value: Option<T>) -> (Result<T, Vec<ManifestError>>, Vec<Warning>) {
        let cut = self.is_cut.get().then(|| ManifestError {
            problem: Problem::rule(format!(
                "more is wrong than the {PROBLEMS_MAX} problems listed"
            )),
            place: self.place(self.root, None),
        });
        let mut errors = self.errors.into_inner();
        errors.extend(cut);
        let result = match value {
            Some(value) if errors.is_empty() => Ok(value),
            _ => Err(errors),
        };
        (result, self.warnings.into_inner())
    }

    /// Whether something was found wrong.
    pub fn is_broken(&self) -> bool {
        self.is_broken.get()
    }

    fn place(&self, nearest: &Value<'v>, missing: Option<&str>) -> Place {
        let Position { line, mut path } = self.origin.position_of(self.root, nearest);
        path.steps.extend(missing.map(|key| Step::Key(key.to_owned())));
        Place {
            file: self.origin.file.clone(),
            line,
            object: self.name.borrow().clone(),
            field: (!path.is_empty()).then(|| path.to_string()),
        }
    }

    fn note(&self, place: Place, problem: Problem) {
        self.is_broken.set(true);
        let error = ManifestError { problem, place };
        let mut errors = self.errors.borrow_mut();
        let shown = error.to_string();
        // A field that is read twice must not have its problem reported twice.
        if !errors.iter().any(|known| known.to_string() == shown) {
            errors.push(error);
        }
    }
}

/// The name in an object's metadata, with the namespace if it names one.
///
/// Readers of namespaced kinds set the default namespace.
fn name_of(value: &Value<'_>) -> String {
    let metadata = value.get("metadata");
    let part = |key| metadata.and_then(|metadata| metadata.get(key)).and_then(Value::as_str);
    let name = part("name").or_else(|| part("generateName")).unwrap_or("(unnamed)");
    match part("namespace") {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

#[derive(Clone, Copy)]
enum At<'v> {
    /// At a value that is not `null`.
    Value(&'v Value<'v>),
    /// At something absent: the nearest value around it, and the first key that is missing there.
    Absent(&'v Value<'v>, &'v str),
}

/// A place in an object: a field that may or may not be there. `null` counts as absent.
///
/// Every typed reading gives `None` (or an empty collection) for an absent field without complaint,
/// and the same after noting the problem for a field of another type. [`Field::required`] notes
/// absence.
#[derive(Clone, Copy)]
pub struct Field<'v> {
    reader: &'v ObjectReader<'v>,
    at: At<'v>,
}

impl fmt::Debug for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field({})", self.place())
    }
}

impl<'v> Field<'v> {
    /// The object being read.
    pub const fn reader(self) -> &'v ObjectReader<'v> {
        self.reader
    }

    /// The value, if there is one.
    pub const fn value(self) -> Option<&'v Value<'v>> {
        match self.at {
            At::Value(value) => Some(value),
            At::Absent(..) => None,
        }
    }

    /// Whether there is a value.
    pub const fn exists(self) -> bool {
        self.value().is_some()
    }

    /// Where it stands.
    pub fn place(self) -> Place {
        match self.at {
            At::Value(value) => self.reader.place(value, None),
            At::Absent(nearest, key) => self.reader.place(nearest, Some(key)),
        }
    }

    /// A member of this object. Of something that is no object, nothing: the wrong type is noted.
    pub fn get(self, key: &'v str) -> Self {
        let at = match self.at {
            At::Absent(..) => self.at,
            At::Value(value) => {
                if !matches!(value.data, Data::Object(_)) {
                    self.wrong_type("an object");
                }
                value.get(key).map_or(At::Absent(value, key), At::Value)
            }
        };
        Self { at, ..self }
    }

    /// This field, with its absence noted as a problem.
    pub fn required(self) -> Self {
        match self.at {
            // Of what is no object nothing can be missing; its type has been noted.
            At::Absent(nearest, _) if !matches!(nearest.data, Data::Object(_)) => {}
            At::Absent(..) => self.note(Problem::Missing),
            At::Value(_) => {}
        }
        self
    }

    /// Notes a problem of this field.
    pub fn note(self, problem: Problem) {
        if self.reader.errors.borrow().len() == PROBLEMS_MAX {
            self.reader.is_cut.set(true);
            return;
        }
        self.reader.note(self.place(), problem);
    }

    /// Notes that this field breaks a rule.
    pub fn note_rule(self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) {
        self.note(Problem::rule(error));
    }

    /// Notes a warning about this field; the object is kept.
    pub fn warn(self, what: impl Into<String>) {
        if self.reader.warnings.borrow().len() == PROBLEMS_MAX {
            return;
        }
        let warning = Warning { what: what.into(), place: Some(self.place()) };
        self.reader.warnings.borrow_mut().push(warning);
    }

    /// Notes a warning about an object that a controller wrote, which is kept: it says which object
    /// and field, since a line of a dump says nothing.
    pub fn remark(self, what: impl fmt::Display) {
        let Place { object, field, .. } = self.place();
        let what = format!("{}, {}: {what}", object.unwrap_or_default(), field.unwrap_or_default());
        self.reader.warnings.borrow_mut().push(Warning { what, place: None });
    }

    /// Notes every member that is not among those named, as the API server's strict decoding does.
    pub fn only(self, known: &[&str]) {
        for (key, field) in self.entries() {
            if !known.contains(&key) {
                let meant = known.iter().find(|name| name.eq_ignore_ascii_case(key));
                field.note(Problem::UnknownField(meant.map(|name| (*name).to_owned())));
            }
        }
    }

    /// Takes members that are not among those named for fields of a newer API: a warning says that
    /// they have no effect, and the object stays in use. One that is spelt nearly as a known field
    /// is an error, as with [`Field::only`]: leaving out what was meant could loosen something.
    ///
    /// For objects of which each field stands for itself. Where a list of fields narrows something
    /// together (requirements, taints, budgets, selector terms), [`Field::only`] is right.
    pub fn only_or_newer(self, known: &[&str]) {
        for (key, field) in self.entries().filter(|(key, _)| !known.contains(key)) {
            match nearest(key, known.iter().copied(), 1).first() {
                Some(meant) => field.note(Problem::UnknownField(Some((*meant).to_owned()))),
                None => field.warn("the field is not known to this version: it has no effect"),
            }
        }
    }

    fn wrong_type(self, expected: &'static str) {
        if let Some(value) = self.value() {
            self.note(Problem::WrongType { expected, found: value.described() });
        }
    }

    /// Reads the value, or notes that it is not what was expected.
    fn typed<T>(
        self,
        expected: &'static str,
        read: impl FnOnce(&'v Value<'v>) -> Option<T>,
    ) -> Option<T> {
        let result = self.value().and_then(read);
        if result.is_none() {
            self.wrong_type(expected);
        }
        result
    }

    /// A string.
    pub fn str(self) -> Option<&'v str> {
        self.typed("a string", Value::as_str)
    }

    /// A string, shared with equal ones.
    pub fn text(self) -> Option<Text> {
        self.str().map(|text| self.reader.interner.text(text))
    }

    /// A string that few others equal (names, uids), so that it is not interned.
    pub fn own_text(self) -> Option<Text> {
        self.str().map(Text::from)
    }

    /// `true` or `false`.
    pub fn bool(self) -> Option<bool> {
        self.typed("true or false", |value| match value.data {
            Data::Bool(truth) => Some(truth),
            _ => None,
        })
    }

    /// A whole number.
    pub fn integer(self) -> Option<i64> {
        self.typed("a whole number", |value| match &value.data {
            Data::Integer(number) => Some(*number),
            // `1e3` and `2.0` are whole too, but the API server takes neither.
            _ => None,
        })
    }

    /// A whole number of 32 bits.
    pub fn int32(self) -> Option<i32> {
        let number = self.integer()?;
        let fitting = i32::try_from(number).ok();
        if fitting.is_none() {
            self.wrong_type("a whole number of 32 bits");
        }
        fitting
    }

    /// A whole number from zero up.
    pub fn count(self) -> Option<u32> {
        let number = self.integer()?;
        let fitting = u32::try_from(number).ok().filter(|count| i32::try_from(*count).is_ok());
        if fitting.is_none() {
            if number < 0 {
                self.note(Problem::Negative(number.to_string()));
            } else {
                self.wrong_type("a whole number of 32 bits");
            }
        }
        fitting
    }

    /// A quantity: a string or a number.
    pub fn quantity(self) -> Option<Quantity> {
        let text = self.typed("a quantity", |value| match &value.data {
            Data::Text(text) | Data::Decimal(text) => {
                Some(std::borrow::Cow::Borrowed(text.as_ref()))
            }
            Data::Integer(number) => Some(number.to_string().into()),
            _ => None,
        })?;
        match text.parse() {
            Ok(quantity) => Some(quantity),
            Err(error) => {
                self.note(Problem::Quantity(error));
                None
            }
        }
    }

    /// A decimal figure as it is written: a string or a number.
    pub(crate) fn decimal(self) -> Option<std::borrow::Cow<'v, str>> {
        self.typed("a decimal figure", |value| match &value.data {
            Data::Text(text) | Data::Decimal(text) => Some(text.as_ref().into()),
            Data::Integer(number) => Some(number.to_string().into()),
            _ => None,
        })
    }

    /// Quantities by resource name, none below zero.
    pub fn resources(self) -> Resources {
        self.entries()
            .filter_map(|(name, field)| {
                let quantity = field.quantity()?;
                if quantity.is_negative() {
                    field.note(Problem::Negative(quantity.to_string()));
                    return None;
                }
                Some((self.reader.interner.text(name), Resources::amount_of(name, quantity)))
            })
            .collect()
    }

    /// An RFC 3339 time.
    pub fn timestamp(self) -> Option<Timestamp> {
        let text = self.str()?;
        let time = text.parse().ok();
        if time.is_none() {
            self.note(Problem::Timestamp(text.to_owned()));
        }
        time
    }

    /// One of a few words, by a table of values and their words.
    pub fn choice<T: Copy>(self, words: &[(T, &'static str)]) -> Option<T> {
        let text = self.str()?;
        let found = words.iter().find(|(_, word)| *word == text).map(|(value, _)| *value);
        if found.is_none() {
            self.note(Problem::UnknownValue {
                found: text.to_owned(),
                allowed: words.iter().map(|(_, word)| *word).collect(),
            });
        }
        found
    }

    /// A word of the API.
    pub fn word<T>(self) -> Option<T>
    where
        T: Copy + FromStr + VariantArray,
        &'static str: From<T>,
    {
        let text = self.str()?;
        let found = text.parse().ok();
        if found.is_none() {
            let allowed = T::VARIANTS.iter().map(|variant| (*variant).into()).collect();
            self.note(Problem::UnknownValue { found: text.to_owned(), allowed });
        }
        found
    }

    /// A string read further by a function; what the function refuses is noted.
    pub fn parsed<T, E>(self, parse: impl FnOnce(&'v str) -> Result<T, E>) -> Option<T>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        match parse(self.str()?) {
            Ok(value) => Some(value),
            Err(error) => {
                self.note_rule(error);
                None
            }
        }
    }

    /// The items of a list.
    pub fn items(self) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        let items = self.typed("a list", Value::as_list).unwrap_or_default();
        items.iter().map(move |item| Self { reader: self.reader, at: At::Value(item) })
    }

    /// The members of an object that are not `null`, in the order written.
    pub fn entries(self) -> impl Iterator<Item = (&'v str, Self)> {
        let value =
            self.typed("an object", |value| matches!(value.data, Data::Object(_)).then_some(value));
        value
            .into_iter()
            .flat_map(Value::members)
            .map(move |(key, member)| (key, Self { reader: self.reader, at: At::Value(member) }))
    }

    /// A list of strings.
    pub fn texts(self) -> Vec<Text> {
        self.items().filter_map(Self::text).collect()
    }

    /// Strings by key: labels, annotations, tags.
    pub fn labels(self) -> Labels {
        self.entries()
            .filter_map(|(key, field)| Some((self.reader.interner.text(key), field.text()?)))
            .collect()
    }
}
