"""The languages in which items are described, and what their descriptions are made of.

Descriptions are lists, so that no word depends on the gender or number of another.
"""

from dataclasses import dataclass

Words = tuple[str, str, str, str, str, str, str, str]
"""One thing's name in each of the languages, in their order."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language: its code, the tag of its texts in HTML, its marks, and the labels of facts.

    `joins` stands between the parts of a list, `labels` after a label and `ends` between sentences;
    `closing` is the last sentence of every text.
    """

    code: str
    tag: str
    joins: str
    labels: str
    ends: str
    material: str
    colour: str
    size: str
    closing: str
    right_to_left: bool = False


LANGUAGES = (
    Language(
        code="ENU",
        tag="en",
        joins=", ",
        labels=": ",
        ends=". ",
        material="Material",
        colour="Color",
        size="Size",
        closing="Available at short notice; ask us about prices by quantity.",
    ),
    Language(
        code="DEU",
        tag="de",
        joins=", ",
        labels=": ",
        ends=". ",
        material="Material",
        colour="Farbe",
        size="Größe",
        closing="Kurzfristig verfügbar, Mengenpreise auf Anfrage.",
    ),
    Language(
        code="FRA",
        tag="fr",
        joins=", ",
        labels=" : ",
        ends=". ",
        material="Matière",
        colour="Couleur",
        size="Taille",
        closing="Disponible rapidement, tarifs par quantité sur demande.",
    ),
    Language(
        code="ESP",
        tag="es",
        joins=", ",
        labels=": ",
        ends=". ",
        material="Material",
        colour="Color",
        size="Tamaño",
        closing="Disponible en breve, precios por cantidad a consultar.",
    ),
    Language(
        code="ARA",
        tag="ar",
        joins="، ",
        labels=": ",
        ends=". ",
        material="المادة",
        colour="اللون",
        size="المقاس",
        closing="متوفر خلال فترة قصيرة، وأسعار الكميات عند الطلب.",
        right_to_left=True,
    ),
    Language(
        code="HEB",
        tag="he",
        joins=", ",
        labels=": ",
        ends=". ",
        material="חומר",
        colour="צבע",
        size="מידה",
        closing="זמין בתוך זמן קצר, מחירי כמות לפי בקשה.",
        right_to_left=True,
    ),
    Language(
        code="CHS",
        tag="zh-Hans",
        joins="，",  # noqa: RUF001 - the comma of Chinese
        labels="：",  # noqa: RUF001 - the colon of Chinese
        ends="。",
        material="材质",
        colour="颜色",
        size="尺寸",
        closing="短期内可提供，批量价格请咨询。",  # noqa: RUF001 - the comma of Chinese
    ),
    Language(
        code="THA",
        tag="th",
        joins=" ",
        labels=": ",
        ends=" ",
        material="วัสดุ",
        colour="สี",
        size="ขนาด",
        closing="พร้อมให้บริการในเวลาอันสั้น สอบถามราคาตามจำนวนได้",
    ),
)
"""Every language; the first is that of the items' own names."""
