"""The rows about values in bodies: what properties accept, and how they are refused."""

from comptoir.profiles.business_central.values import VALUES
from comptoir.profiles.row import Row

VALUE_ROWS = (
    Row(
        "V1",
        "A create or an update with the identification fields of another record. Business Central "
        "has another text for other unique fields, of which the entity sets have none.",
        "Recorded in two public clients' tests, one of them on version 28.4",
        "recorded",
        ("errors.KEY_TAKEN",),
    ),
    Row(
        "V2",
        "A body with a property that the entity type does not have.",
        "The text: recorded in a public client's tests; the code is assumed",
        "recorded",
        ("errors.UNKNOWN_PROPERTY",),
    ),
    Row(
        "V3",
        "A body with a property that only the service sets: the record's id, or the time of its "
        "last change. An update may send the value that the record has, as the interface says, "
        "and a create of a unit of measure its `lastModifiedDateTime`.",
        "MicrosoftDocs/dynamics365smb-devitpro-pb#618, #2390, #2676; the code: the documentation",
        "recorded",
        ("errors.READ_ONLY", "writes.computed"),
    ),
    Row(
        "V4",
        "null for a property.",
        "The documentation's error codes",
        "documented",
        ("errors.NULL_VALUE",),
    ),
    Row(
        "V5",
        "A create with an empty object. Business Central refuses it in unknown words; here, V9 "
        "applies to the first required property.",
        "pybc365 0.3.0; the response is our choice",
        "ours",
        (),
    ),
    Row(
        "V6",
        "A text with more characters than its field has. The tables below list the fields. An "
        "update may repeat the record's value, such as one from a file, as the interface says.",
        "The text: recorded in a public client's tests; the lengths: microsoft/BCApps",
        "recorded",
        ("errors.TOO_LONG", *(f"values.tables.{each}" for each in VALUES.tables)),
    ),
    Row(
        "V7",
        "A code that names no record, in a property with a relation below. Blank codes, and those "
        "that an update leaves as they are, are not checked. `relations = off` turns it off.",
        "The text: recorded in a public client's tests; the relations: microsoft/BCApps",
        "recorded",
        ("errors.NO_RELATED",),
    ),
    Row(
        "V8",
        "A value in a body that is not a member of its enumeration. Captions and names are "
        "accepted; an empty text is the first member. An update may repeat the record's value, as "
        "the interface says.",
        "The documentation of batches; the members: microsoft/BCApps",
        "documented",
        ("errors.NO_OPTION",),
    ),
    Row(
        "V9",
        "A required property that is missing or empty.",
        "The text: the documentation; the status is assumed. Which properties the interface "
        "requires besides the fields that may not be blank is our choice",
        "documented",
        ("errors.NO_VALUE",),
    ),
    Row(
        "V10",
        "A value that the application refuses: an e-mail address without its parts, a phone number "
        "with letters, a period that ends before it begins, and the deletion of a unit of measure "
        "that is the base unit of an item. An update may repeat the record's address or number, as "
        "the interface says.",
        "The code: recorded in a public client's tests; rules and texts: microsoft/BCApps",
        "recorded",
        (
            "errors.NO_EMAIL",
            "errors.LETTERS_IN_PHONE",
            "errors.BEGINS_LATE",
            "errors.ENDS_EARLY",
            "errors.IN_USE",
        ),
    ),
    Row(
        "V11",
        "A body that is not an object: another JSON value, nothing, or malformed JSON. The message "
        "for malformed JSON was recorded for another body, and is assumed to be the same.",
        "MicrosoftDocs/dynamics365smb-devitpro-pb#2221, hougaard/Simple-Object-Designer#96; for an "
        "array and for nothing, Microsoft's OData library",
        "recorded",
        ("errors.NO_OBJECT", "errors.MALFORMED_JSON"),
    ),
    Row(
        "V12",
        "A value that is not one of its property's type.",
        "The documentation, for dates; assumed to be the same for other types",
        "documented",
        ("errors.WRONG_TYPE",),
    ),
    Row(
        "V13",
        "A code with spaces around it or in lower case, in a body, in a key, or compared by an "
        "operator: stored and found without them, in upper case. `contains`, `startswith` and "
        "`endswith` find codes in any case.",
        "The documentation of the data type Code",
        "documented",
        (),
    ),
    Row(
        "V14",
        "An update of a contact's `displayName` without `searchName`: the search name follows "
        "while it is blank or the former name in capitals. One that was set by hand remains. A "
        "load has the rule of the interface.",
        "The public source of the tables of customers and vendors; assumed to be the same here",
        "recorded",
        ("forms.keeps_own",),
    ),
)
