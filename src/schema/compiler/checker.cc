#include "schema/compiler/checker.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace porthole::schemac {
namespace {

/// The paths that a column's cell reads: the cell itself, or arguments of its function.
std::vector<std::string> paths_of(const Column& column) {
    const std::string cell = column.cell.substr(0, column.cell.rfind(" | "));
    if (cell.starts_with('.')) return {cell};
    const std::size_t open = cell.find('(');
    if (open == std::string::npos) return {};
    std::vector<std::string> paths;
    std::stringstream arguments(cell.substr(open + 1, cell.rfind(')') - open - 1));
    for (std::string argument; std::getline(arguments >> std::ws, argument, ',');)
        if (argument.starts_with('.')) paths.push_back(argument);
    return paths;
}

/// Whether `path` (".spec.replicas", ".status.podIPs[0].ip") leads to a field of an object of `type`, or to a key of a map.
bool has_path(const TypeDef& type, const std::string& path) {
    const TypeDef* at = &type;
    std::stringstream names(path.substr(1));
    for (std::string name; std::getline(names, name, '.');) {
        if (!at) return false;
        const auto members = flatten(*at);
        const auto found = std::ranges::find(members, name.substr(0, name.find('[')), [](const FlatField& m) { return m.field->name; });
        if (found == members.end()) return false;
        if (found->field->shape == Shape::Map) return true;
        at = found->field->target;
    }
    return true;
}

/// Whether `json` looks like a value of the field: of the JSON, only the kind of value is checked.
bool may_hold(const Field& field, const std::string& json) {
    const auto is_between = [&json](char first, char last) { return json.size() >= 2 && json.front() == first && json.back() == last; };
    if (field.shape == Shape::List) return is_between('[', ']');
    if (field.shape == Shape::Map || field.target) return is_between('{', '}');
    if (field.type == "JSON" || field.type == "RawExtension") return true;
    const bool is_number = !json.empty() && json.find_first_not_of("-.0123456789") == std::string::npos;
    if (field.type == "bool") return json == "true" || json == "false";
    if (field.type == "double" || field.type.starts_with("int") || field.type.starts_with("uint")) return is_number;
    return is_between('"', '"') || (field.type == "IntOrString" && is_number);
}

class Checker {
public:
    Checker(std::vector<std::unique_ptr<Package>>& packages, Diagnostics& diagnostics) : packages_(packages), diagnostics_(diagnostics) {}

    void run() {
        for (auto& package : packages_) check_names(*package);
        for (auto& package : packages_)
            for (auto& type : package->types)
                for (Field& field : type->fields) resolve(*package, *type, field);
        if (!diagnostics_.empty()) return;
        for (auto& package : packages_) {
            for (auto& type : package->types) {
                check_fields(*type);
                for (const Field& field : type->fields) check_recursion(*type, field);
            }
            check_services(*package);
        }
        mark_boxed();
    }

private:
    void check_names(const Package& package) {
        std::set<std::string> seen;
        for (const Enum& e : package.enums)
            if (!seen.insert(e.name).second) diagnostics_.add(e.place, e.name + " is declared twice");
        for (const auto& type : package.types)
            if (!seen.insert(type->name).second) diagnostics_.add(type->place, type->name + " is declared twice");
    }

    const Package* find_package(const std::string& directory) const {
        for (const auto& package : packages_)
            if (package->directory == directory) return package.get();
        return nullptr;
    }

    /// Splits "meta/v1.ObjectMeta" into package and name; a bare name is of this package.
    std::pair<const Package*, std::string> locate(const Package& here, const std::string& reference) const {
        const std::size_t slash = reference.find('/'), dot = reference.find('.', slash == std::string::npos ? 0 : slash);
        if (slash == std::string::npos) return {&here, reference};
        return {find_package(reference.substr(0, dot)), reference.substr(dot + 1)};
    }

    void resolve(const Package& package, const TypeDef& type, Field& field) {
        if (const auto enumeration = field.attributes.find("enum"); enumeration != field.attributes.end()) {
            const auto [where, name] = locate(package, enumeration->second);
            field.enumeration = where ? where->find_enum(name) : nullptr;
            if (!field.enumeration) diagnostics_.add(field.place, "no such enum: " + enumeration->second);
        }
        if (is_scalar(field.type)) return;
        const auto [where, name] = locate(package, field.type);
        field.target = where ? where->find_type(name) : nullptr;
        if (field.target) return;
        if (where && !package.proto3.empty()) {
            field.enumeration = where->find_enum(name);
            if (field.enumeration) return;
        }
        diagnostics_.add(field.place, "no such type: " + field.type + " (in " + type.name + ")");
    }

    void check_fields(const TypeDef& type) {
        std::set<std::uint32_t> numbers;
        int inlines = 0;  // one base class, so that it starts where the struct starts
        for (const Field& field : type.fields) {
            if (field.number && !numbers.insert(field.number).second)
                diagnostics_.add(field.place, "number " + std::to_string(field.number) + " is used twice in " + type.name);
            if (field.inlined) check_inlined(type, field, ++inlines);
        }
        std::set<std::string> names;
        for (const FlatField& flat : flatten(type)) {
            const Field& field = *flat.field;
            if (!names.insert(field.name).second) diagnostics_.add(field.place, "name " + field.name + " is used twice in " + type.name);
            check_list_keys(field);
            check_default(field);
        }
        check_columns(type);
    }

    void check_default(const Field& field) {
        const auto given = field.attributes.find("default");
        if (given != field.attributes.end() && !may_hold(field, given->second))
            diagnostics_.add(field.place, "default=" + given->second + " is not the JSON of a value of this type");
    }

    void check_columns(const TypeDef& type) {
        for (const Column& column : type.columns)
            for (const std::string& path : paths_of(column))
                if (!has_path(type, path)) diagnostics_.add(column.place, "no such field: " + path + " (of column " + column.name + ")");
    }

    void check_inlined(const TypeDef& type, const Field& field, int inlines) {
        if (inlines > 1) diagnostics_.add(field.place, "a struct can inline only one other: " + type.name);
        if (!field.target) diagnostics_.add(field.place, "only a struct can be inlined");
    }

    void check_list_keys(const Field& field) {
        const auto list = field.attributes.find("list");
        if (list == field.attributes.end() || !list->second.starts_with("map(")) return;
        if (!field.target) return diagnostics_.add(field.place, "list=map needs a list of structs");
        const std::string keys = list->second.substr(4, list->second.size() - 5);
        const auto members = flatten(*field.target);
        for (std::size_t from = 0; from < keys.size();) {
            const std::size_t to = std::min(keys.find(',', from), keys.size());
            const std::string key = keys.substr(from, to - from);
            if (std::none_of(members.begin(), members.end(), [&](const FlatField& m) { return m.field->name == key; }))
                diagnostics_.add(field.place, "list key " + key + " is not a field of " + field.type);
            from = to + 1;
        }
    }

    static bool reaches(const TypeDef* from, const TypeDef* wanted, std::set<const TypeDef*>& seen) {
        if (from == wanted) return true;
        if (!seen.insert(from).second) return false;
        return std::any_of(from->fields.begin(), from->fields.end(),
                           [&](const Field& field) { return field.target && reaches(field.target, wanted, seen); });
    }

    void check_recursion(const TypeDef& type, const Field& field) {
        if (!field.target || field.shape != Shape::Single || field.is_boxed()) return;
        std::set<const TypeDef*> seen;
        if (reaches(field.target, &type, seen)) diagnostics_.add(field.place, type.name + " contains itself by value");
    }

    void mark_boxed() {
        std::set<const TypeDef*> boxed;
        for (const auto& package : packages_)
            for (const auto& type : package->types)
                for (const Field& field : type->fields)
                    if (field.is_boxed()) boxed.insert(field.target);
        for (auto& package : packages_)
            for (auto& type : package->types) type->boxed = boxed.contains(type.get()) && !type->string_list;
    }

    void check_services(const Package& package) {
        for (const Service& service : package.services)
            for (const Method& method : service.methods)
                for (const std::string& message : {method.request, method.response})
                    if (!package.find_type(message)) diagnostics_.add(service.place, "no such type: " + message);
    }

    std::vector<std::unique_ptr<Package>>& packages_;
    Diagnostics& diagnostics_;
};

void flatten_into(const TypeDef& type, bool inlined, std::vector<FlatField>& result) {
    for (const Field& field : type.fields) {
        if (field.inlined) {
            flatten_into(*field.target, true, result);
        } else {
            result.push_back({&field, &type, inlined});
        }
    }
}

}  // namespace

void check(std::vector<std::unique_ptr<Package>>& packages, Diagnostics& diagnostics) { Checker(packages, diagnostics).run(); }

std::vector<FlatField> flatten(const TypeDef& type) {
    std::vector<FlatField> result;
    flatten_into(type, false, result);
    return result;
}

bool is_outlined(const TypeDef& type) { return type.is_kind || type.fields.size() > 12; }

}  // namespace porthole::schemac
