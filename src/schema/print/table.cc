#include "schema/print/table.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/strings.h"
#include "schema/print/cells.h"

namespace porthole::schema {
namespace {

/// The parts of a column's text: "join(.spec.cidrs, x) | <none>" or ".spec.replicas | <unset>".
struct CellText {
    std::string_view function, path;
    std::array<std::string_view, 4> arguments;
    std::size_t argument_count = 0;
    std::string_view fallback;
    bool has_fallback = false;
};

CellText parse_cell(std::string_view text) {
    CellText cell;
    if (const std::size_t bar = text.rfind(" | "); bar != text.npos) {
        cell.has_fallback = true;
        cell.fallback = trim(text.substr(bar + 3), " ");
        text = trim(text.substr(0, bar), " ");
    }
    if (text.starts_with('.') || text.starts_with('{') || text.starts_with('$')) {
        cell.path = text;
        return cell;
    }
    const std::size_t open = text.find('(');
    cell.function = text.substr(0, open);
    if (open == text.npos) return cell;
    std::string_view rest = text.substr(open + 1, text.rfind(')') - open - 1);
    while (!rest.empty() && cell.argument_count < cell.arguments.size()) {
        const std::size_t comma = rest.find(',');
        cell.arguments[cell.argument_count++] = trim(rest.substr(0, comma), " ");
        rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
    }
    return cell;
}

const CellFunction* find_function(std::string_view name) {
    static const std::map<std::string_view, const CellFunction*> functions = [] {
        std::map<std::string_view, const CellFunction*> all;
        for (const auto& list : {general_cells, pod_cells, workload_cells, network_cells, storage_cells, cluster_cells}) {
            for (const CellFunction& function : list) CHECK(all.emplace(function.name, &function).second);
        }
        return all;
    }();
    const auto found = functions.find(name);
    return found == functions.end() ? nullptr : found->second;
}

/// The field that a plain path names; null where the schema cannot say.
const Field* find_field(const Type* type, std::string_view path) {
    const Field* field = nullptr;
    while (type && path.starts_with('.')) {
        path.remove_prefix(1);
        const std::size_t end = std::min(path.find('.'), path.size());
        field = type->find_field(path.substr(0, end));
        type = field && field->form == Form::Struct && field->is_single() ? field->type : nullptr;
        path.remove_prefix(end);
    }
    return path.empty() ? field : nullptr;
}

/// What Go shows for a field that is not set. Custom resources show nothing.
Value zero_of(const Kind& kind, const Column& column, std::string_view path) {
    if (!kind.type || !kind.type->create) return Value();
    const Field* field = find_field(kind.type, path);
    if (column.type == "boolean" || (field && field->form == Form::Bool)) return false;
    const bool number = field && field->is_single() && field->form >= Form::Int32 && field->form <= Form::Double;
    return column.type == "integer" || number ? Value(0) : Value("");
}

bool is_nothing(const Value& value) { return value.is_null() || (value.is_string() && value.as_string().empty()); }

Value cell_of(const Kind& kind, const Column& column, const Value& object, Timestamp now) {
    const CellText text = parse_cell(column.cell);
    Value value;
    if (text.function.empty()) {
        value = first_at(object, text.path);
        if (!value.is_null() && column.type == "date") value = age_of(value, now);
    } else if (const CellFunction* function = find_function(text.function)) {
        value = function->compute({object, {text.arguments.data(), text.argument_count}, now});
    }
    if (!is_nothing(value)) return value;
    if (text.has_fallback) return text.fallback;
    if (text.function == "age") return kind.type && kind.type->create ? Value("<unknown>") : Value();
    return value.is_null() ? zero_of(kind, column, text.path) : value;
}

constexpr Column default_columns[] = {
    {.name = "Name",
     .type = "string",
     .format = "name",
     .description = "The object's name, unique in its namespace for its kind.",
     .cell = ".metadata.name"},
    {.name = "Created At",
     .type = "date",
     .format = "",
     .description = "When the object was created.",
     .cell = ".metadata.creationTimestamp"},
};

std::span<const Column> columns_of(const Kind& kind) { return kind.columns.empty() ? default_columns : kind.columns; }

std::string_view description_of(const Kind& kind, const Column& column) {
    if (!column.description.empty()) return column.description;
    if (column.name == "Name") return default_columns[0].description;
    const Field* field = kind.type ? find_field(kind.type, column.cell) : nullptr;
    return field ? field->description() : std::string_view();
}

}  // namespace

Value column_definitions(const Kind& kind) {
    Array definitions;
    for (const Column& column : columns_of(kind)) {
        definitions.push_back(Value::object({{"name", column.name},
                                             {"type", column.type},
                                             {"format", column.format},
                                             {"description", description_of(kind, column)},
                                             {"priority", column.wide ? 1 : 0}}));
    }
    return definitions;
}

Array table_cells(const Kind& kind, const Value& object, Timestamp now) {
    if (kind.columns.empty()) {  // shown as it is, and not as an age
        return {object.string_at({"metadata", "name"}), object.string_at({"metadata", "creationTimestamp"})};
    }
    Array cells;
    cells.reserve(kind.columns.size());
    for (const Column& column : kind.columns) cells.push_back(cell_of(kind, column, object, now));
    return cells;
}

Array row_conditions(const Kind& kind, const Value& object) {
    if (kind.kind != "Pod" || !kind.group.empty()) return {};
    const std::string_view phase = object.string_at({"status", "phase"});
    if (phase != "Succeeded" && phase != "Failed") return {};
    const std::string_view message = phase == "Succeeded" ? "The pod has completed successfully." : "The pod failed.";
    return {Value::object({{"type", "Completed"}, {"status", "True"}, {"reason", phase}, {"message", message}})};
}

}  // namespace porthole::schema
