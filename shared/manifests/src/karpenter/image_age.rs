//! Annotations `outrigger.dev/ami-min-age` and `amis-held-back` of an EC2NodeClass.

use domain::image_age::{HeldBackImage, ImageAge, held_back_entries};
use domain::label::{AMI_MIN_AGE, AMIS_HELD_BACK};

use crate::duration;
use crate::field::Field;

/// How old images are at the least. What is no duration counts as not there: held back for good,
/// every image would be, and no node could be launched.
pub(super) fn read_image_age(annotations: Field<'_>) -> ImageAge {
    let field = annotations.get(AMI_MIN_AGE);
    let min = field.str().and_then(|text| match duration::parse(text) {
        Ok(min) => Some(min),
        Err(error) => {
            field.warn(format!("{error}: images are used whatever their age"));
            None
        }
    });
    // Without a minimum, what an earlier one held back is no longer.
    let held_back = min.map(|_| read_held_back(annotations.get(AMIS_HELD_BACK)));
    ImageAge { min, held_back: held_back.unwrap_or_default() }
}

fn read_held_back(field: Field<'_>) -> Vec<HeldBackImage> {
    let mut images = Vec::new();
    for entry in held_back_entries(field.str().unwrap_or_default()) {
        match entry {
            Ok(image) => images.push(image),
            Err(error) => field.warn(format!("{error}: it holds nothing back")),
        }
    }
    images.sort();
    images
}
