#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time/time.h"
#include "schema/print/json_path.h"
#include "schema/value.h"

namespace porthole::schema {

/// The input of a cell's function: the object, its arguments (mostly paths), and the current time.
struct Cell {
    const Value& object;
    std::span<const std::string_view> arguments;
    Timestamp now;

    /// The first value that the first argument's path selects, or null.
    const Value& argument() const { return arguments.empty() ? null_value() : first_at(object, arguments[0]); }
};

/// A function that the schema names in a column. Returns null or "" for an empty cell.
struct CellFunction {
    std::string_view name;
    Value (*compute)(const Cell& cell);
};

// One list for each area; names are unique across all lists.
extern const std::span<const CellFunction> general_cells, pod_cells, workload_cells, network_cells, storage_cells, cluster_cells;

// Used by several areas.
std::string age_of(const Value& timestamp, Timestamp now);  ///< "<unknown>" if there is none
std::string text_of(const Value& scalar);                   ///< strings bare, numbers and bools as JSON; "" for null
/// The first `shown` texts, then `more` with "#" replaced by the number of the remaining texts.
std::string join_some(const std::vector<std::string>& texts, std::size_t shown, std::string_view more);
const Array& items_of(const Value& list);                  ///< the list, or an empty one
std::string format_label_map(const Value& labels);         ///< "a=b,c=d", "<none>"
std::string format_label_selector(const Value& selector);  ///< "a=b,c in (d,e),!f", "<none>"
/// The condition of `status.conditions` of this type, or null.
const Value& find_condition(const Value& object, std::string_view type);
inline bool is_true(const Value& condition) { return condition.string_at({"status"}) == "True"; }

}  // namespace porthole::schema
