#pragma once
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace porthole::controllers::endpoints {

namespace port_key_parts {
/// With its length, so that two different lists never have the same text.
inline void append(std::string& key, const std::string& text) { key += std::to_string(text.size()) + ":" + text; }
template <class Number>
    requires std::is_integral_v<Number>
void append(std::string& key, Number number) {
    key += std::to_string(number) + ",";
}
template <class T>
void append(std::string& key, const std::optional<T>& value) {
    key += value ? '+' : '-';
    if (value) append(key, *value);
}
}  // namespace port_key_parts

/// Equal for equal lists of ports, of Endpoints or of EndpointSlices, to find them by: a service may have thousands of ports, and each of
/// its pods others.
template <class Port>
std::string port_key(const std::vector<Port>& ports) {
    std::string key;
    for (const Port& port : ports) {
        port_key_parts::append(key, port.name);
        port_key_parts::append(key, port.protocol);
        port_key_parts::append(key, port.port);
        port_key_parts::append(key, port.app_protocol);
    }
    return key;
}

}  // namespace porthole::controllers::endpoints
