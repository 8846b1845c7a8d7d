#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::objects {

/// The operator of a requirement of a label selector or a node selector. Gt and Lt are for node selectors only.
enum class Operator : std::uint8_t { In, NotIn, Exists, DoesNotExist, GreaterThan, LessThan };

/// The operator by the API's name: In, NotIn, Exists, DoesNotExist, Gt or Lt.
std::optional<Operator> parse_operator(std::string_view name);

/// Whether the value, null if the key is missing, meets the requirement. GreaterThan and LessThan are true only between integers, and only
/// with exactly one bound in `values`.
bool holds(Operator operation, const std::vector<std::string>& values, const std::string* value);

}  // namespace porthole::objects
