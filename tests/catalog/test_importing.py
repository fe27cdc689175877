"""A CSDL document becomes a catalog: nothing is lost without a comment and a line of the report."""

import re
from pathlib import Path

import pytest

from comptoir.catalog import MODEL, read_catalog
from comptoir.catalog.csdl import DEEPEST, MOST_BYTES, Document
from comptoir.catalog.importing import Imported, import_catalog
from comptoir.edm.model import Model
from comptoir.edm.types import TEXT, TEXT_LENGTH
from comptoir.errors.refusal import OperatorError
from comptoir.metadata.csdl import MEDIA_TYPES, XML, metadata_document
from metadata.reading import ANNOUNCED
from support.catalogs import model_of
from support.command import Command
from support.programs import node
from support.refusals import refusal
from support.service import StartService
from support.subjects import every_option
from support.together import together

IMPORTS = Path(__file__).parent / "imports"
EDMX = '<Edmx Version="4.0" xmlns="http://docs.oasis-open.org/odata/ns/edmx"><DataServices>{}'
SCHEMA = '<Schema Namespace="N" xmlns="http://docs.oasis-open.org/odata/ns/edm">{}</Schema>'
THING = (
    '<EntityType Name="T">{}<Key><PropertyRef Name="id"/></Key>'
    '<Property Name="id" Type="Edm.Guid" Nullable="false"/>{}</EntityType>'
    '<EntityContainer Name="C"><EntitySet Name="things" EntityType="N.T"/>{}</EntityContainer>'
)
ALTERNATE_KEY = (
    '<Annotation Term="Org.OData.Core.V1.AlternateKeys"><Collection><Record><PropertyValue'
    ' Property="Key"><Collection><Record><PropertyValue Property="Name" PropertyPath="{}"/>'
    "</Record></Collection></PropertyValue></Record></Collection></Annotation>"
)

SYSTEMS = ("business-central", "finance-and-operations", "s4hana")
"""The systems whose documents are beside the tests, each with its catalog and its report."""


def imported(folder: Path, content: str | bytes, *only: str) -> Imported:
    file = folder / "metadata"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return import_catalog(Document(file), only)


def document(inner: str = "", *, marks: str = "", container: str = "", schema: str = "") -> str:
    """A document with one set; `inner` is in its type, and `marks` before the key."""
    parts = THING.format(marks, inner, container) + schema
    return EDMX.format(SCHEMA.format(parts)) + "</DataServices></Edmx>"


@together("system", SYSTEMS)
def test_the_documents_of_three_systems_are_imported_with_every_loss(system: str) -> None:
    result = import_catalog(Document(IMPORTS / f"{system}.xml"), ())
    assert result.report == (IMPORTS / f"{system}.txt").read_text(encoding="utf-8").splitlines()
    assert result.text == (IMPORTS / f"{system}.toml").read_text(encoding="utf-8")
    assert read_catalog(IMPORTS / f"{system}.toml").namespace in result.text
    for line in result.report:
        assert re.sub(r"^\S+ ", "", line) in result.text


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_document_in_json_becomes_the_same_catalog(system: str, tmp_path: Path) -> None:
    """An independent converter writes the document (npm)."""
    run = node()
    file = tmp_path / f"{system}.xml"
    script, source = Path(__file__).parent / "csdl_json.mjs", IMPORTS / file.name
    file.write_text(run.run(script, run.packages, source), encoding="utf-8")
    result = import_catalog(Document(file), ())
    assert result.text == (IMPORTS / f"{system}.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
@pytest.mark.parametrize("model", [MODEL, every_option()], ids=["built-in", "every-option"])
def test_the_sets_of_the_service_itself_are_imported_as_they_are(
    model: Model, media_type: str, tmp_path: Path
) -> None:
    own = metadata_document(model, ANNOUNCED, media_type, "4.01", under_company=False)
    found = model_of(tmp_path, imported(tmp_path, own).text)
    assert (found.namespace, found.container) == (model.namespace, model.container)
    assert {each.name: each.type.name for each in found.sets} == {
        each.name: each.type.name for each in model.sets
    }
    for each in model.per_company:
        there = found.by_name[each.name]
        assert there.read_only == each.read_only
        # of a set without a description, the document says where it is
        description = each.type.description or "Address: companies({id})/…"
        assert (there.type.key, there.type.description) == (each.type.key, description)
        assert [one.properties for one in there.type.unique] == [
            one.properties for one in each.type.unique
        ]
        for own_one, one in zip(each.type.properties, there.type.properties, strict=True):
            assert (one.name, one.type.edm_name) == (own_one.name, own_one.type.edm_name)
            # a text without a limit gets one
            is_text = own_one.type.edm_name == TEXT.edm_name
            limit = {"MaxLength": TEXT_LENGTH} if is_text and own_one.is_unlimited else {}
            assert one.type.facets == {**own_one.type.facets, **limit}
            assert one.description == own_one.description
            assert one.modified_at == own_one.modified_at
            # what nobody creates is not announced as required
            assert one.required == (own_one.required and not each.read_only)
        # no constraint says which records they relate
        assert {
            name: (one.target, one.collection) for name, one in there.type.unserved.items()
        } == {
            one.name: (one.target, one.collection)
            for one in (*each.type.navigation, *each.type.unserved.values())
        }


def test_an_imported_catalog_is_served(start_service: StartService, tmp_path: Path) -> None:
    own = metadata_document(MODEL, ANNOUNCED, XML, "4.0", under_company=True)
    company = start_service(model_of(tmp_path, imported(tmp_path, own).text)).new_company()
    made = company.post("contactsExt", {"number": "C1", "displayName": "Ada"})
    assert made.status_code == 201
    assert company.get("contactsExt(number='C1')").json()["displayName"] == "Ada"
    assert company.post("customersExt", {}).status_code == 405
    refused = refusal(
        company.get("itemsExt", "$expand=translations"), "BadRequest_MethodNotImplemented"
    )
    assert "item/translations is not supported" in refused.message


@together(
    ("content", "reason"),
    [
        ("<!DOCTYPE html>\n<html><body>Log in</body></html>", "it is HTML, such as a page to log"),
        ("<rss/>", "its root element is rss."),
        ('<e:Edmx xmlns:e="http://schemas.microsoft.com/ado/2007/06/edmx"/>', "it is of OData 3 "),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "it has a document type, which may declare"),
        (EDMX, "no element found: line 1, column "),
        (EDMX.format("<a>" * DEEPEST), "it has more than 2000000 elements, or 64 in each other."),
        (EDMX.format("") + "</DataServices></Edmx>", "it declares no entity sets."),
        (
            document(schema='<EntityContainer Name="D" Extends="N.C"/>'),
            "it has several containers.",
        ),
        ('{"value": []}', "it has no $Version."),
        ('{"$Version": ', "Input data was truncated."),
        ('{"a":' * 100_000, "maximum recursion depth exceeded while deserializing an object."),
        ("", "no element found: line 1, column 0."),
    ],
)
def test_what_is_not_csdl_is_refused(content: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(OperatorError) as refused:
        imported(tmp_path, content)
    assert f"metadata is not CSDL of OData 4: {reason}" in str(refused.value)
    assert str(refused.value).endswith(
        "Name a file with the `$metadata` of OData 4.0 or 4.01, in XML or JSON."
    )


def test_a_document_has_a_limit_of_bytes(tmp_path: Path) -> None:
    file = tmp_path / "metadata"
    with file.open("wb") as large:
        large.truncate(MOST_BYTES + 1)
    with pytest.raises(OperatorError, match="metadata has more than 65536 KiB"):
        Document(file)


OF_SETS = {
    '<EntitySet Name="t" EntityType="N.T"/>': "the set t has the type N.T, as things has.",
    '<EntitySet Name="t" EntityType="M.T"/>': "the set t has the type M.T. Types of the",
    '<EntitySet Name="a b" EntityType="N.T"/>': "a b is not a name.",
    '<EntitySet Name="companies" EntityType="N.Firm"/>': "The service declares companies itself.",
    '<Singleton Name="me" Type="N.T"/>': "me is a singleton, which is not served.",
}
OF_PROPERTIES = {
    '<Property Name="a b" Type="Edm.Guid"/>': "a b is not a name.",
    '<Property Name="ID" Type="Edm.Guid"/>': "ID has the name of id.",
    '<Property Name="d" Type="Edm.Decimal" Precision="9" Scale="variable"/>': "of more digits.",
    f'<Property Name="d" Type="Edm.Date"/>{ALTERNATE_KEY.format("d")}': "T(d) is an alternate",
}
OF_OTHER_TEXT = {
    ("Edm.Guid", "Edm.Int64"): "the set things has the key id of the type Edm.Int64. A key",
    ('<PropertyRef Name="id"/>', ""): "the set things has the key nothing. A set is served",
    ('"T"', '"T" OpenType="true"'): "T is an open type, which is not served.",
}


@together(
    ("xml", "loss"),
    [
        *((document(container=xml), loss) for xml, loss in OF_SETS.items()),
        *((document(xml), loss) for xml, loss in OF_PROPERTIES.items()),
        *((document().replace(*pair), loss) for pair, loss in OF_OTHER_TEXT.items()),
        (
            document(schema='<EntityType Name="U" BaseType="N.T"/>'),
            "N.U is a derived type, which is not served.",
        ),
        (
            document(
                '<Property Name="a" Type="Edm.Int32"/><NavigationProperty Name="n" Type="N.T">'
                '<ReferentialConstraint Property="a" ReferencedProperty="id"/></NavigationProperty>'
            ),
            "T/n does not compare one pair of served properties of one type.",
        ),
        (
            document(
                schema='<Action Name="ID" IsBound="true"><Parameter Name="p" Type="N.T"/></Action>'
            ),
            "ID has the name of id.",
        ),
        (
            document(
                '<Property Name="e" Type="N.t"/>',
                schema='<EnumType Name="t"><Member Name="a"/></EnumType>',
            ),
            "T/e has the type N.t, which is not served.",
        ),
    ],
)
def test_each_loss_is_reported(xml: str, loss: str, tmp_path: Path) -> None:
    result = imported(tmp_path, xml)
    assert any(loss in each for each in result.report), result.report
    assert loss in result.text
    model_of(tmp_path, result.text)


def test_types_are_those_of_their_facets_and_of_what_they_are_derived_from(tmp_path: Path) -> None:
    result = imported(
        tmp_path,
        document(
            '<Property Name="n" Type="N.D" Nullable="false"/>'
            '<Property Name="m" Type="Edm.Decimal" Scale="2" Nullable="false"/>'
            '<Property Name="s" Type="Edm.String" MaxLength="max" Nullable="false"/>',
            schema='<TypeDefinition Name="D" UnderlyingType="Edm.Decimal" Precision="7" Scale="2"/>'
            '<EntityType Name="B" BaseType="N.A"><Property Name="b" Type="Edm.Date"/></EntityType>'
            '<EntityType Name="A" BaseType="N.B"><Property Name="a" Type="Edm.Date"/></EntityType>',
        ).replace('Name="T"', 'Name="T" BaseType="N.B"'),
    )
    lines = result.text.partition("[sets.things.properties]\n")[2].splitlines()
    assert lines[:6] == [
        'a = "Date"',
        'b = "Date"',
        'id = "Guid"',
        'n = "Decimal(7,2)"',
        'm = "Decimal(15,2)"',
        's = "String"',
    ]


def test_one_contained_record_is_a_related_record(tmp_path: Path) -> None:
    result = imported(
        tmp_path,
        document(
            '<NavigationProperty Name="n" Type="N.T" ContainsTarget="true">'
            '<ReferentialConstraint Property="id" ReferencedProperty="id"/></NavigationProperty>'
        ),
    )
    assert 'n = { to = "things", on = { id = "id" } }' in result.text
    model_of(tmp_path, result.text)


def test_annotations_with_a_qualifier_are_for_others(tmp_path: Path) -> None:
    term = '<Annotation Term="Org.OData.Core.V1.Description" {} String="{}"/>'
    both = term.format("", "A thing.") + term.format('Qualifier="Tablet"', "Thing")
    result = imported(tmp_path, document(marks=both))
    assert 'description = "A thing."\n' in result.text


def test_encoded_names_of_members_have_captions(tmp_path: Path) -> None:
    names = ("_x0020_", "Bar_x0020_Code", "Line_x000A_Feed", "Plain")
    members = "".join(f'<Member Name="{each}"/>' for each in names)
    inner, enum = '<Property Name="e" Type="N.E"/>', f'<EnumType Name="E">{members}</EnumType>'
    result = imported(tmp_path, document(inner, schema=enum))
    listed = '[["_x0020_", " "], ["Bar_x0020_Code", "Bar Code"], "Line_x000A_Feed", "Plain"]'
    assert result.text.endswith(f"[enums]\nE = {listed}\n")
    model_of(tmp_path, result.text)


def test_texts_of_a_document_are_texts_in_the_catalog(tmp_path: Path) -> None:
    text = 'a"\\\n[sets]\x7f'
    own = metadata_document(MODEL, ANNOUNCED, MEDIA_TYPES[1], "4.01", under_company=False)
    content = own.replace(b'"A sales campaign."', b'"a\\"\\\\\\n[sets]\\u007f\\u001b"')
    result = imported(tmp_path, content.replace(b'"city"', b'"ci\\nty"'))
    found = model_of(tmp_path, result.text)
    assert found.by_name["campaignsExt"].type.description.startswith(text[:-1])
    assert "city" not in found.by_name["contactsExt"].type.by_name


def test_the_command_prints_or_writes_the_catalog(command: Command) -> None:
    file, output = IMPORTS / "s4hana.xml", command.folder / "s4.toml"
    printed = command.done("catalog", "import", file)
    assert printed.out == (IMPORTS / "s4hana.toml").read_text(encoding="utf-8")
    assert printed.err.startswith("s4hana.xml: 2 of 3 sets, ")
    written = command.done("catalog", "import", file, "--output", output, "--only", "Workshop")
    assert written.out == ""
    assert written.err.startswith("s4hana.xml: 1 of 1 sets, 6 of 8 properties, ")
    assert "[sets.Workshop]" in output.read_text(encoding="utf-8")
    unknown = command.error("catalog", "import", file, "--only", "Workshops")
    assert "Workshops is not a known entity set. Did you mean Workshop?" in unknown
    folder = command.error("catalog", "import", file, "--output", command.folder)
    assert f"{command.folder} cannot be written: Is a directory. Name another file." in folder
