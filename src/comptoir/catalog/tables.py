"""The tables of Business Central that the sets of a catalog show."""

from comptoir.catalog.declarations import STRING, Declarations
from comptoir.catalog.options import FieldOptions, NamedOptions, TableOptions
from comptoir.catalog.source import Path
from comptoir.edm.types import TEXT_LENGTH
from comptoir.errors import operator_rows as problems
from comptoir.profiles.record import FieldRule, Relation, TableRule, Values

_SOURCE = "microsoft/BCApps src/Layers/W1/BaseApp/{}.Table.al"


class TableBuilder:
    """Builds the tables of a file; what cannot be built is a fault of the source."""

    def __init__(self, declared: Declarations) -> None:
        self._declared = declared

    def tables(self) -> Values:
        """The tables of Business Central that the sets show."""
        tables: dict[str, TableRule] = {}
        aliases: dict[str, str] = {}
        for name, options in sorted(self._declared.sets.items(), key=lambda each: each[0].lower()):
            path = ("sets", name, "business_central")
            if options.business_central is None:
                continue
            table = self._declared.source.options(path, options.business_central, TableOptions)
            if table is not None:
                tables[name] = self._table(path, name, table)
                # a set that has the name of an alias is the one that requests mean
                if table.alias and table.alias not in self._declared.sets:
                    self._declared.check_names(
                        (*path, "alias"), [*self._declared.sets, *aliases, table.alias]
                    )
                    aliases[table.alias] = name
        return Values(tables, aliases)

    def _table(self, path: Path, name: str, options: TableOptions) -> TableRule:
        fields = self._declared.each_of((*path, "properties"), options.properties, FieldOptions)
        used_in = list(options.used_in.items())
        for field in fields:
            self._declared.known((*path, "properties", field), name, [field])
        for set_name, referrer in used_in:
            if self._declared.has_set((*path, "used_in"), set_name):
                self._declared.known((*path, "used_in"), set_name, [referrer])
        for period in options.periods:
            self._declared.known((*path, "periods"), name, period)
        return TableRule(
            options.table,
            options.caption,
            _SOURCE.format(options.source),
            {
                field: self._field((*path, "properties", field), name, field, given)
                for field, given in fields.items()
            },
            periods=options.periods,
            used_in=tuple(used_in),
        )

    def _field(self, path: Path, set_name: str, name: str, options: FieldOptions) -> FieldRule:
        enums = self._declared.enums
        members: tuple[tuple[str, str], ...] = ()
        if options.enum in enums:
            members = tuple(enums[options.enum].captioned)
        elif options.enum:
            self._declared.source.unknown(path, "enumeration", options.enum, list(enums))
        self._check_narrowed(path, set_name, name, options)
        return FieldRule(
            options.caption,
            options.length,
            code=options.code,
            members=members,
            relation=self._relation(path, set_name, options.names),
            mandatory=options.required,
            rule=options.form,
            confidence="ours" if options.ours else "code",
        )

    def _check_narrowed(self, path: Path, set_name: str, name: str, options: FieldOptions) -> None:
        """Add the fault that a field accepts what its property does not."""
        declared = self._declared.properties[set_name].get(name)
        if declared is None or (options.length is None and not options.enum):
            return
        text = STRING.fullmatch(declared.type)
        most = int(text[1]) if text else TEXT_LENGTH
        if declared.type.partition("(")[0] != "String" or (options.length or 0) > most:
            self._declared.source.fault(path, problems.NOT_NARROWER(name=name, type=declared.type))

    def _relation(self, path: Path, set_name: str, options: NamedOptions | None) -> Relation | None:
        if options is None:
            return None
        if self._declared.has_set(path, options.set):
            self._declared.known(path, options.set, [options.by, *options.only])
        self._declared.known(path, set_name, options.when)
        only, when = (next(iter(each.items()), None) for each in (options.only, options.when))
        return Relation(options.set, options.by, only, when)
