"""The products of the sample company and their properties, in eight languages.

A description is a list, so no word depends on the gender or number of another.
"""

# ruff: noqa: RUF001 - the punctuation of Chinese

from dataclasses import dataclass

Words = tuple[str, str, str, str, str, str, str, str]
"""One name in each of the languages, in the order of `LANGUAGES`."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language: its code, its HTML tag, its punctuation, and the labels of properties.

    `joins` separates the parts of a list and `ends` sentences; `labels` follows a label. `closing`
    is the last sentence of each text.
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
        "ENU", "en", ", ", ": ", ". ",
        "Material", "Color", "Size",
        "Available at short notice; ask us about prices by quantity.",
    ),
    Language(
        "DEU", "de", ", ", ": ", ". ",
        "Material", "Farbe", "Größe",
        "Kurzfristig verfügbar, Mengenpreise auf Anfrage.",
    ),
    Language(
        "FRA", "fr", ", ", " : ", ". ",
        "Matière", "Couleur", "Taille",
        "Disponible rapidement, tarifs par quantité sur demande.",
    ),
    Language(
        "ESP", "es", ", ", ": ", ". ",
        "Material", "Color", "Tamaño",
        "Disponible en breve, precios por cantidad a consultar.",
    ),
    Language(
        "ARA", "ar", "، ", ": ", ". ",
        "المادة", "اللون", "المقاس",
        "متوفر خلال فترة قصيرة، وأسعار الكميات عند الطلب.",
        right_to_left=True,
    ),
    Language(
        "HEB", "he", ", ", ": ", ". ",
        "חומר", "צבע", "מידה",
        "זמין בתוך זמן קצר, מחירי כמות לפי בקשה.",
        right_to_left=True,
    ),
    Language(
        "CHS", "zh-Hans", "，", "：", "。",
        "材质", "颜色", "尺寸",
        "短期内可提供，批量价格请咨询。",
    ),
    Language(
        "THA", "th", " ", ": ", " ",
        "วัสดุ", "สี", "ขนาด",
        "พร้อมให้บริการในเวลาอันสั้น สอบถามราคาตามจำนวนได้",
    ),
)  # fmt: skip
"""The languages; items are named in the first one."""

COLOURS: tuple[Words, ...] = (
    ("black", "schwarz", "noir", "negro", "أسود", "שחור", "黑色", "สีดำ"),
    ("white", "weiß", "blanc", "blanco", "أبيض", "לבן", "白色", "สีขาว"),
    ("gray", "grau", "gris", "gris", "رمادي", "אפור", "灰色", "สีเทา"),
    ("red", "rot", "rouge", "rojo", "أحمر", "אדום", "红色", "สีแดง"),
    ("blue", "blau", "bleu", "azul", "أزرق", "כחול", "蓝色", "สีน้ำเงิน"),
    ("green", "grün", "vert", "verde", "أخضر", "ירוק", "绿色", "สีเขียว"),
    ("yellow", "gelb", "jaune", "amarillo", "أصفر", "צהוב", "黄色", "สีเหลือง"),
    ("brown", "braun", "marron", "marrón", "بني", "חום", "棕色", "สีน้ำตาล"),
    ("orange", "orange", "orange", "naranja", "برتقالي", "כתום", "橙色", "สีส้ม"),
    ("natural", "natur", "naturel", "natural", "طبيعي", "טבעי", "原色", "สีธรรมชาติ"),
)

_BAMBOO = ("bamboo", "Bambus", "bambou", "bambú", "خيزران", "במבוק", "竹", "ไม้ไผ่")
_BEECH = ("beech", "Buche", "hêtre", "haya", "خشب الزان", "עץ אשור", "山毛榉", "ไม้บีช")
_BRASS = ("brass", "Messing", "laiton", "latón", "نحاس أصفر", "פליז", "黄铜", "ทองเหลือง")
_COTTON = ("cotton", "Baumwolle", "coton", "algodón", "قطن", "כותנה", "棉", "ผ้าฝ้าย")
_GLASS = ("glass", "Glas", "verre", "vidrio", "زجاج", "זכוכית", "玻璃", "แก้ว")
_LEATHER = ("leather", "Leder", "cuir", "cuero", "جلد", "עור", "皮革", "หนัง")
_LINEN = ("linen", "Leinen", "lin", "lino", "كتان", "פשתן", "亚麻", "ผ้าลินิน")
_OAK = ("oak", "Eiche", "chêne", "roble", "خشب البلوط", "עץ אלון", "橡木", "ไม้โอ๊ค")
_PORCELAIN = (
    "porcelain", "Porzellan", "porcelaine", "porcelana", "بورسلين", "חרסינה", "瓷", "พอร์ซเลน"
)  # fmt: skip
_STEEL = ("steel", "Stahl", "acier", "acero", "فولاذ", "פלדה", "钢", "เหล็กกล้า")
_WOOL = ("wool", "Wolle", "laine", "lana", "صوف", "צמר", "羊毛", "ขนแกะ")

_LETTERS = ("S", "M", "L", "XL")
_BED = ("130 x 170 cm", "150 x 200 cm", "220 x 240 cm")
_DESKS = ("120 x 60 cm", "140 x 70 cm", "160 x 80 cm")
_TABLES = ("120 x 80 cm", "160 x 90 cm", "200 x 100 cm", "240 x 100 cm")
_SHELVES = ("80 x 200 cm", "120 x 200 cm", "160 x 200 cm")
_SQUARES = ("40 x 40 cm", "50 x 50 cm", "60 x 60 cm")
_RUGS = ("140 x 200 cm", "160 x 230 cm", "200 x 300 cm")
_TOWELS = ("30 x 50 cm", "50 x 100 cm", "70 x 140 cm")
_PLATES = ("20 cm", "24 cm", "27 cm")
_PAPER = ("A4", "A5", "A6")
_SCREWS = ("3 x 20 mm", "4 x 40 mm", "5 x 60 mm", "6 x 80 mm")


@dataclass(frozen=True, slots=True)
class Product:
    """A product: the prefix of its item numbers, its unit, its prices in whole euros."""

    prefix: str
    unit: str
    cheapest: int
    dearest: int
    names: Words
    materials: tuple[Words, ...] = ()
    sizes: tuple[str, ...] = ()
    coloured: bool = True

    @property
    def is_service(self) -> bool:
        """Whether it is a service, which has no bar code and no country of origin."""
        return self.unit == "HOUR"


PRODUCTS = (
    Product(
        "LAMP", "PCS", 29, 189,
        ("Desk lamp", "Schreibtischlampe", "Lampe de bureau", "Lámpara de escritorio",
         "مصباح مكتب", "מנורת שולחן", "台灯", "โคมไฟตั้งโต๊ะ"),
        (_STEEL, _BRASS, _BAMBOO),
    ),
    Product(
        "FLMP", "PCS", 79, 449,
        ("Floor lamp", "Stehlampe", "Lampadaire", "Lámpara de pie",
         "مصباح أرضي", "מנורת עמידה", "落地灯", "โคมไฟตั้งพื้น"),
        (_STEEL, _BRASS, _OAK),
    ),
    Product(
        "PEND", "PCS", 49, 399,
        ("Pendant lamp", "Pendelleuchte", "Suspension", "Lámpara colgante",
         "مصباح معلق", "מנורה תלויה", "吊灯", "โคมไฟแขวน"),
        (_GLASS, _BRASS, _STEEL),
    ),
    Product(
        "CHAR", "PCS", 69, 349,
        ("Chair", "Stuhl", "Chaise", "Silla", "كرسي", "כיסא", "椅子", "เก้าอี้"),
        (_OAK, _BEECH, _STEEL),
    ),
    Product(
        "ARMC", "PCS", 249, 1499,
        ("Armchair", "Sessel", "Fauteuil", "Sillón",
         "كرسي بذراعين", "כורסה", "扶手椅", "เก้าอี้นวม"),
        (_LEATHER, _WOOL, _LINEN),
    ),
    Product(
        "DESK", "PCS", 199, 899,
        ("Desk", "Schreibtisch", "Bureau", "Escritorio",
         "مكتب", "שולחן כתיבה", "书桌", "โต๊ะทำงาน"),
        (_OAK, _BEECH, _BAMBOO), _DESKS,
    ),
    Product(
        "TABL", "PCS", 299, 1999,
        ("Dining table", "Esstisch", "Table à manger", "Mesa de comedor",
         "طاولة طعام", "שולחן אוכל", "餐桌", "โต๊ะอาหาร"),
        (_OAK, _BEECH, _GLASS), _TABLES,
    ),
    Product(
        "SHLF", "PCS", 99, 799,
        ("Bookshelf", "Bücherregal", "Bibliothèque", "Estantería",
         "رف كتب", "כוננית ספרים", "书架", "ชั้นหนังสือ"),
        (_OAK, _BEECH, _STEEL), _SHELVES,
    ),
    Product(
        "CABN", "PCS", 199, 1299,
        ("Cabinet", "Schrank", "Armoire", "Armario", "خزانة", "ארון", "柜子", "ตู้"),
        (_OAK, _BEECH, _STEEL), _SHELVES,
    ),
    Product(
        "MUGS", "PCS", 6, 24,
        ("Mug", "Becher", "Tasse", "Taza", "كوب", "ספל", "马克杯", "แก้วมัค"),
        (_PORCELAIN, _GLASS, _STEEL),
    ),
    Product(
        "BOWL", "PCS", 8, 49,
        ("Bowl", "Schale", "Bol", "Cuenco", "وعاء", "קערה", "碗", "ชาม"),
        (_PORCELAIN, _GLASS, _BAMBOO), _PLATES,
    ),
    Product(
        "PLAT", "SET", 19, 129,
        ("Plates", "Teller", "Assiettes", "Platos", "أطباق", "צלחות", "盘子", "จาน"),
        (_PORCELAIN, _BAMBOO), _PLATES,
    ),
    Product(
        "VASE", "PCS", 14, 149,
        ("Vase", "Vase", "Vase", "Jarrón", "مزهرية", "אגרטל", "花瓶", "แจกัน"),
        (_GLASS, _PORCELAIN, _BRASS), _LETTERS,
    ),
    Product(
        "CUSH", "PCS", 14, 69,
        ("Cushion", "Kissen", "Coussin", "Cojín", "وسادة", "כרית", "靠垫", "หมอนอิง"),
        (_COTTON, _LINEN, _WOOL), _SQUARES,
    ),
    Product(
        "BLKT", "PCS", 39, 199,
        ("Blanket", "Decke", "Couverture", "Manta", "بطانية", "שמיכה", "毯子", "ผ้าห่ม"),
        (_WOOL, _COTTON), _BED,
    ),
    Product(
        "TOWL", "PACK", 9, 59,
        ("Towels", "Handtücher", "Serviettes", "Toallas",
         "مناشف", "מגבות", "毛巾", "ผ้าขนหนู"),
        (_COTTON, _LINEN, _BAMBOO), _TOWELS,
    ),
    Product(
        "CURT", "PAIR", 39, 179,
        ("Curtains", "Vorhänge", "Rideaux", "Cortinas",
         "ستائر", "וילונות", "窗帘", "ผ้าม่าน"),
        (_COTTON, _LINEN), _RUGS,
    ),
    Product(
        "RUGS", "PCS", 79, 899,
        ("Rug", "Teppich", "Tapis", "Alfombra", "سجادة", "שטיח", "地毯", "พรม"),
        (_WOOL, _COTTON), _RUGS,
    ),
    Product(
        "BACK", "PCS", 49, 199,
        ("Backpack", "Rucksack", "Sac à dos", "Mochila",
         "حقيبة ظهر", "תרמיל", "背包", "กระเป๋าเป้"),
        (_COTTON, _LEATHER), _LETTERS,
    ),
    Product(
        "CASE", "PCS", 89, 349,
        ("Briefcase", "Aktentasche", "Porte-documents", "Maletín",
         "حقيبة وثائق", "תיק מסמכים", "公文包", "กระเป๋าเอกสาร"),
        (_LEATHER, _COTTON),
    ),
    Product(
        "NOTE", "PACK", 7, 39,
        ("Notebooks", "Notizbücher", "Carnets", "Cuadernos",
         "دفاتر", "מחברות", "笔记本", "สมุดบันทึก"),
        (_LEATHER, _LINEN), _PAPER,
    ),
    Product(
        "TOOL", "PCS", 25, 149,
        ("Toolbox", "Werkzeugkasten", "Boîte à outils", "Caja de herramientas",
         "صندوق أدوات", "ארגז כלים", "工具箱", "กล่องเครื่องมือ"),
        (_STEEL,), _LETTERS,
    ),
    Product(
        "SCRW", "BOX", 3, 19,
        ("Screws", "Schrauben", "Vis", "Tornillos", "براغي", "ברגים", "螺丝", "สกรู"),
        (_STEEL, _BRASS), _SCREWS, coloured=False,
    ),
    Product(
        "FABR", "M", 9, 89,
        ("Upholstery fabric", "Möbelstoff", "Tissu d'ameublement", "Tela de tapicería",
         "قماش تنجيد", "בד ריפוד", "家具布料", "ผ้าหุ้มเบาะ"),
        (_COTTON, _LINEN, _WOOL),
    ),
    Product(
        "OILS", "L", 12, 45,
        ("Furniture oil", "Möbelöl", "Huile pour meubles", "Aceite para muebles",
         "زيت أثاث", "שמן לרהיטים", "家具油", "น้ำมันบำรุงเฟอร์นิเจอร์"),
        coloured=False,
    ),
    Product(
        "COFF", "KG", 11, 39,
        ("Coffee beans", "Kaffeebohnen", "Café en grains", "Café en grano",
         "حبوب القهوة", "פולי קפה", "咖啡豆", "เมล็ดกาแฟ"),
        coloured=False,
    ),
    Product(
        "ASMB", "HOUR", 39, 89,
        ("Assembly service", "Montageservice", "Service de montage", "Servicio de montaje",
         "خدمة التركيب", "שירות הרכבה", "安装服务", "บริการติดตั้ง"),
        coloured=False,
    ),
    Product(
        "PLAN", "HOUR", 59, 149,
        ("Interior planning", "Einrichtungsberatung", "Conseil en aménagement",
         "Asesoría de interiores", "استشارة تصميم", "ייעוץ עיצוב", "设计咨询", "ออกแบบตกแต่งภายใน"),
        coloured=False,
    ),
)  # fmt: skip
"""Every product; an item is a variant of one."""
