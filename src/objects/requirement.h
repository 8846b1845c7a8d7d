#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::objects {

/// What a requirement of a label selector or a node selector asks of the value at its key. Gt and Lt are for node selectors only.
enum class Operator : std::uint8_t { In, NotIn, Exists, DoesNotExist, GreaterThan, LessThan };

/// The operator by the API's name: In, NotIn, Exists, DoesNotExist, Gt or Lt.
std::optional<Operator> parse_operator(std::string_view name);

/// Whether the value, null where the key is missing, fulfills the requirement. GreaterThan and LessThan hold only between whole numbers,
/// and only with exactly one bound in `values`.
bool holds(Operator operation, const std::vector<std::string>& values, const std::string* value);

}  // namespace porthole::objects
