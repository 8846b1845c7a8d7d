#include "schema/compiler/table_writer.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "schema/compiler/checker.h"
#include "schema/compiler/cpp_types.h"
#include "schema/compiler/names.h"

namespace porthole::schemac {
namespace {

std::vector<std::string> words(const std::string& text, char separator = ',') {
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

std::string table_of(const TypeDef& type) { return "::" + package_namespace(*type.package) + "::tables::" + type.name; }

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

class TableWriter {
public:
    explicit TableWriter(const Package& package) : package_(package) {}

    std::string write() {
        out_ += fmt::format("// Made by schemac from {}; change that.\n#include \"api/{}.h\"\n\n", package_.file, package_file(package_));
        out_ += "#include \"schema/access.h\"\n#include \"schema/compare.h\"\n\n";
        out_ +=
            "#pragma clang diagnostic ignored \"-Winvalid-offsetof\"\n#pragma clang diagnostic ignored \"-Wdeprecated-declarations\"\n\n";
        declare_foreign_tables();
        out_ += fmt::format("namespace {} {{\nusing namespace ::porthole::schema;\nnamespace tables {{\n", package_namespace(package_));
        for (const auto& type : package_.types)
            if (!type->string_list) out_ += fmt::format("extern const Type {};\n", type->name);
        out_ += "}  // namespace tables\n\nnamespace {\n";
        out_ += fmt::format("constinit const Package package{{{}, {}, {}, {}}};\n", literal(package_.group), literal(package_.version),
                            literal(package_.directory), literal(package_.openapi));
        for (const auto& type : package_.types)
            if (!type->string_list) write_rows(*type);
        out_ += "}  // namespace\n\nnamespace tables {\n";
        for (const auto& type : package_.types)
            if (!type->string_list) write_table(*type);
        out_ += "}  // namespace tables\n\n";
        for (const auto& type : package_.types)
            if (!type->string_list) write_functions(*type);
        out_ += fmt::format("}}  // namespace {}\n\n", package_namespace(package_));
        for (const auto& type : package_.types)
            if (type->boxed) out_ += fmt::format("template class ::porthole::schema::Box<{}>;\n", qualified(*type));
        return std::move(out_);
    }

private:
    void declare_foreign_tables() {
        std::set<const TypeDef*> foreign;
        for (const auto& type : package_.types)
            for (const FlatField& flat : flatten(*type))
                if (flat.field->target && flat.field->target->package != &package_) foreign.insert(flat.field->target);
        for (const auto& type : package_.types)
            for (const Field& field : type->fields)
                if (field.inlined && field.target->package != &package_) foreign.insert(field.target);
        std::set<std::string> lines;
        for (const TypeDef* type : foreign) {
            if (type->string_list) continue;
            lines.insert(fmt::format("namespace {}::tables {{ extern const ::porthole::schema::Type {}; }}\n",
                                     package_namespace(*type->package), type->name));
        }
        for (const std::string& line : lines) out_ += line;
        out_ += "\n";
    }

    std::string write_string_array(const std::string& name, const std::vector<std::string>& values) {
        if (values.empty()) return "{}";
        std::string items;
        for (const std::string& value : values) items += literal(value) + ", ";
        out_ += fmt::format("constinit const std::string_view {}[] = {{{}}};\n", name, items);
        return name;
    }

    std::string write_enumeration(const Enum& e) {
        const std::string name = "enum_" + e.name;
        if (enums_.insert(&e).second) {
            const std::string values = write_string_array(name + "_values", e.values);
            out_ += fmt::format("constinit const Enumeration {}{{{}, {}, {}}};\n", name, literal(e.name), values, e.closed);
        }
        return "&" + name;
    }

    std::string write_limits(const Field& field, const std::string& stem) {
        std::string parts;
        const auto bound = [&](const char* attribute, const char* member) {
            if (!field.has(attribute)) return;
            out_ += fmt::format("constinit const double {}_{} = {};\n", stem, member, field.attributes.at(attribute));
            parts += fmt::format(".{} = &{}_{}, ", member, stem, member);
        };
        bound("min", "minimum");
        bound("max", "maximum");
        const auto count = [&](const char* attribute, const char* member) {
            if (field.has(attribute)) parts += fmt::format(".{} = {}, ", member, field.attributes.at(attribute));
        };
        count("min-length", "min_length");
        count("max-length", "max_length");
        count("min-items", "min_items");
        count("max-items", "max_items");
        if (field.has("pattern")) parts += fmt::format(".pattern = {}, ", literal(field.attributes.at("pattern")));
        if (field.has("format")) parts += fmt::format(".format = {}, ", literal(field.attributes.at("format")));
        if (parts.empty()) return "";
        out_ += fmt::format("constinit const Limits {}_limits{{{}}};\n", stem, parts);
        return fmt::format("&{}_limits", stem);
    }

    static std::string parenthesized(const Field& field, const char* attribute) {
        const auto found = field.attributes.find(attribute);
        if (found == field.attributes.end()) return "";
        const std::size_t open = found->second.find('(');
        return open == std::string::npos ? "" : found->second.substr(open + 1, found->second.size() - open - 2);
    }

    std::string write_notes(const Field& field, const std::string& stem) {
        std::string parts;
        const auto add = [&](const char* member, const std::string& value) {
            if (!value.empty()) parts += fmt::format(".{} = {}, ", member, value);
        };
        const auto text = [](const std::string& value) { return value.empty() ? "" : literal(value); };
        add("description", text(field.description));
        if (field.has("default")) add("default_json", literal(field.attributes.at("default")));
        if (field.enumeration && field.has("enum")) add("enumeration", write_enumeration(*field.enumeration));
        add("limits", write_limits(field, stem));
        const std::string keys = parenthesized(field, "list");
        if (!keys.empty()) add("list_keys", write_string_array(stem + "_keys", words(keys)));
        add("merge_key", text(parenthesized(field, "patch")));
        if (field.has("gate")) add("gate", literal(field.attributes.at("gate")));
        if (field.has("type-name")) add("type_name", literal(field.attributes.at("type-name")));
        if (parts.empty()) return "nullptr";
        // Many fields are described in the same words, and those of an inlined struct are written twice.
        const auto [known, is_new] = notes_.emplace(parts, stem + "_notes");
        if (is_new) out_ += fmt::format("constinit const FieldNotes {}{{{}}};\n", known->second, parts);
        return "&" + known->second;
    }

    static std::string flags(const FlatField& flat, const CppField& cpp, const Package& package) {
        const Field& field = *flat.field;
        std::string result = "0";
        const auto add = [&](bool set, const char* flag) {
            if (set) result += fmt::format(" | Field::{}", flag);
        };
        const bool proto3 = !package.proto3.empty();
        const bool always = field.has("always") || (field.has("required") && !field.has("omitempty"));
        add(field.has("required"), "Required");
        add(!always, "OmitEmpty");
        add(field.has("omitzero"), "OmitZero");
        add(field.pointer, "Pointer");
        add(field.has("immutable"), "Immutable");
        add(field.has("deprecated"), "Deprecated");
        add(field.has("patch"), "PatchMerge");
        add(field.has("retain-keys"), "PatchRetainKeys");
        add(field.has("atomic"), "AtomicMap");
        add(flat.inlined, "Inlined");
        add(cpp.wrapped_list && !cpp.element, "WrappedList");
        add(field.has("secret"), "Secret");
        add(field.has("may-be-empty"), "MayBeEmpty");
        static const std::set<std::string> packable = {"Bool", "Int32", "Int64", "Uint32", "Uint64", "Double", "Enum"};
        add(proto3 && field.shape == Shape::List && packable.contains(cpp.form), "Packed");
        return result;
    }

    void add_field_row(const TypeDef& type, const FlatField& flat) {
        const Field& field = *flat.field;
        const CppField cpp = cpp_field(field);
        const std::string member = member_name(field.name);
        const std::string stem = fmt::format("{}_{}", type.name, member);
        std::string element = "nullptr";
        if (cpp.element) {
            out_ += fmt::format(
                "constinit const Field {}_element{{.flags = Field::WrappedList, .shape = Shape::List, .form = Form::String, "
                ".access = &list_access<std::vector<std::string>>}};\n",
                stem);
            element = fmt::format("&{}_element", stem);
        }
        const std::string shape = field.shape == Shape::Map ? "Map" : field.shape == Shape::List || cpp.list_shape ? "List" : "Single";
        const std::string list = field.has("list") ? field.attributes.at("list") : "";
        const std::string list_type = list.starts_with("map") ? "Map" : list == "set" ? "Set" : "Atomic";
        const bool is_struct = cpp.form == "Struct";
        field_rows_.push_back(
            fmt::format("    {{{}, {}, {}, Shape::{}, Form::{}, ListType::{}, offsetof({}, {}), {}, {}, {}, {}}},\n", literal(field.name),
                        field.number, flags(flat, cpp, package_), shape, cpp.form, list_type, type.name, member,
                        is_struct ? "&" + table_of(*field.target) : "nullptr", element,
                        cpp.access.empty() ? "nullptr" : fmt::format("&{}<decltype({}::{})>", cpp.access, type.name, member),
                        write_notes(field, stem)));
    }

    void write_rows(const TypeDef& type) {
        field_rows_.clear();
        const std::vector<FlatField> fields = flatten(type);
        for (const FlatField& flat : fields) add_field_row(type, flat);
        if (!fields.empty()) {
            out_ += fmt::format("constinit const Field {}_fields[] = {{\n", type.name);
            for (const std::string& line : field_rows_) out_ += line;
            out_ += "};\n";
            std::vector<std::size_t> order(fields.size());
            std::iota(order.begin(), order.end(), 0);
            std::sort(order.begin(), order.end(), [&](auto a, auto b) { return fields[a].field->name < fields[b].field->name; });
            out_ += fmt::format("constinit const std::uint16_t {}_by_name[] = {{{}}};\n", type.name, fmt::join(order, ", "));
        }
        std::string inlined;
        for (const Field& field : type.fields)
            if (field.inlined) inlined += fmt::format("{{{}, &{}}}, ", field.number, table_of(*field.target));
        if (!inlined.empty()) out_ += fmt::format("constinit const InlinedType {}_inlined[] = {{{}}};\n", type.name, inlined);
        if (type.is_kind) add_kind(type);
    }

    void write_table(const TypeDef& type) {
        const bool inlines = std::any_of(type.fields.begin(), type.fields.end(), [](const Field& f) { return f.inlined; });
        std::string flags = "0";
        if (type.has("atomic")) flags += " | Type::Atomic";
        if (type.has("union")) flags += " | Type::Union";
        if (type.has("alternatives")) flags += " | Type::Alternatives";
        if (!package_.proto3.empty()) flags += " | Type::Proto3";
        const bool empty = type.fields.empty();
        out_ +=
            fmt::format("constinit const Type {0}{{{1}, &package, {2}, {3}, {4}, {5}, {6}, &create_struct<{7}>, &destroy_struct<{7}>}};\n",
                        type.name, literal(type.name), literal(type.description), flags, empty ? "{}" : type.name + "_fields",
                        empty ? "{}" : type.name + "_by_name", inlines ? type.name + "_inlined" : "{}", qualified(type));
    }

    static std::vector<std::string> standard_verbs() {
        return {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
    }

    std::string write_subresources(const TypeDef& type) {
        if (type.subresources.empty()) return "{}";
        std::string rows;
        for (const Subresource& sub : type.subresources) {
            std::string group, version, name;
            const std::vector<std::string> parts = words(sub.kind, '/');
            if (parts.size() == 3) group = parts[0];
            version = parts[parts.size() - 2];
            name = parts.back();
            const std::string verbs = write_string_array(fmt::format("{}_{}_verbs", type.name, sub.name), sub.verbs);
            rows += fmt::format("    {{{}, {}, {}, {}, {}}},\n", literal(sub.name), literal(group), literal(version), literal(name), verbs);
        }
        out_ += fmt::format("constinit const Subresource {}_subresources[] = {{\n{}}};\n", type.name, rows);
        return type.name + "_subresources";
    }

    std::string write_columns(const TypeDef& type) {
        if (type.columns.empty()) return "{}";
        out_ += fmt::format("constinit const Column {}_columns[] = {{\n", type.name);
        for (const Column& column : type.columns) {
            out_ += fmt::format("    {{{}, {}, {}, \"\", {}, {}}},\n", literal(column.name), literal(column.type), literal(column.format),
                                column.wide, literal(column.cell));
        }
        out_ += "};\n";
        return type.name + "_columns";
    }

    std::string lifecycle(const TypeDef& type) {
        const std::string stage = type.attribute("stage");
        return fmt::format("{{Stage::{}, {}, {}, {}, {}}}",
                           stage == "beta"    ? "Beta"
                           : stage == "alpha" ? "Alpha"
                                              : "Stable",
                           literal(type.attribute("since")), literal(type.attribute("deprecated")), literal(type.attribute("removed")),
                           literal(type.attribute("replaced-by")));
    }

    void add_kind(const TypeDef& type) {
        const bool resource = type.has("resource");
        const std::string group = type.has("group") ? type.attribute("group") : package_.group;
        std::string flags = "0";
        if (type.has("namespaced")) flags += " | Kind::Namespaced";
        if (resource) flags += " | Kind::Resource";
        const bool has_items =
            std::any_of(type.fields.begin(), type.fields.end(), [](const Field& f) { return f.name == "items" && f.shape == Shape::List; });
        if (has_items) flags += " | Kind::List";
        if (std::any_of(type.subresources.begin(), type.subresources.end(), [](const Subresource& s) { return s.name == "status"; }))
            flags += " | Kind::HasStatus";

        std::string list_kind, storage_group, storage_version;
        for (const auto& other : package_.types)
            if (other->attribute("list-of") == type.name) list_kind = other->name;
        if (resource && !type.has("not-stored")) {
            storage_group = group;
            storage_version = package_.version;
            if (const std::string stored = type.attribute("stored-as"); !stored.empty()) {
                const std::size_t slash = stored.find('/');
                storage_group = slash == std::string::npos ? "" : stored.substr(0, slash);
                storage_version = slash == std::string::npos ? stored : stored.substr(slash + 1);
            }
        }
        const std::string singular = type.has("singular") ? type.attribute("singular") : resource ? lower(type.name) : "";
        const std::string shorts = write_string_array(type.name + "_short_names", words(type.attribute("short")));
        const std::string categories = write_string_array(type.name + "_categories", words(type.attribute("categories")));
        const std::string verbs = resource ? write_string_array(type.name + "_verbs", type.verbs.value_or(standard_verbs())) : "{}";
        const std::string subs = write_subresources(type), cells = write_columns(type);
        std::string members;
        const auto add = [&](const char* member, const std::string& value) { members += fmt::format("    .{} = {},\n", member, value); };
        add("group", literal(group));
        add("version", literal(package_.version));
        add("kind", literal(type.name));
        add("list_kind", literal(list_kind));
        add("plural", literal(type.attribute("resource")));
        add("singular", literal(singular));
        add("short_names", shorts);
        add("categories", categories);
        add("verbs", verbs);
        add("subresources", subs);
        add("columns", cells);
        add("storage_group", literal(storage_group));
        add("storage_version", literal(storage_version));
        add("storage_hash", literal(type.attribute("hash")));
        add("lifecycle", lifecycle(type));
        add("flags", flags);
        add("type", "&" + type.name);
        kinds_.push_back(fmt::format("constinit const Kind {}_kind{{\n{}}};\n", type.name, members));
    }

    void write_functions(const TypeDef& type) {
        if (kinds_.size()) {
            out_ += "namespace tables {\n";
            for (const std::string& kind : kinds_) out_ += "extern " + kind;
            out_ += "}  // namespace tables\n\n";
            kinds_.clear();
        }
        if (is_outlined(type)) {
            out_ += fmt::format(
                "{0}::{0}() = default;\n{0}::{0}(const {0}& other) = default;\n{0}::{0}({0}&& other) noexcept = default;\n"
                "{0}& {0}::operator=(const {0}& other) = default;\n{0}& {0}::operator=({0}&& other) noexcept = default;\n"
                "{0}::~{0}() = default;\n",
                type.name);
        }
        out_ += fmt::format("const Type& {0}::schema_type() {{ return tables::{0}; }}\n", type.name);
        if (type.is_kind) out_ += fmt::format("const Kind& {0}::kind() {{ return tables::{0}_kind; }}\n", type.name);
        out_ += fmt::format("bool {0}::operator==(const {0}& other) const {{ return equal(tables::{0}, this, &other); }}\n", type.name);
    }

    const Package& package_;
    std::string out_;
    std::vector<std::string> field_rows_, kinds_;
    std::set<const Enum*> enums_;
    std::map<std::string, std::string> notes_;  // by their members, the constant that has them
};

}  // namespace

std::string write_tables(const Package& package) { return TableWriter(package).write(); }

std::string write_registry(const std::vector<std::unique_ptr<Package>>& packages) {
    std::string declarations, rows;
    for (const auto& package : packages) {
        for (const auto& type : package->types) {
            if (!type->is_kind) continue;
            declarations += fmt::format("namespace {}::tables {{ extern const ::porthole::schema::Kind {}_kind; }}\n",
                                        package_namespace(*package), type->name);
            rows += fmt::format("    &{}::tables::{}_kind,\n", "::" + package_namespace(*package), type->name);
        }
    }
    return "// Made by schemac; change the files of api/.\n#include \"api/registry.h\"\n\n" + declarations +
           "\nnamespace porthole::api {\nnamespace {\nconstinit const schema::Kind* const all_kinds[] = {\n" + rows +
           "};\n}  // namespace\n\nstd::span<const schema::Kind* const> kinds() { return all_kinds; }\n\nconst schema::Registry& "
           "registry() {\n"
           "    static const schema::Registry built_in(all_kinds);\n    return built_in;\n}\n\n}  // namespace porthole::api\n";
}

}  // namespace porthole::schemac
