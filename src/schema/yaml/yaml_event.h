#pragma once
// Shared by the two readers. No other file includes libyaml.
#include <yaml.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::schema {

/// One event of libyaml's parser, freed when the next is read.
class YamlEvent {
public:
    YamlEvent() = default;
    YamlEvent(const YamlEvent&) = delete;
    YamlEvent& operator=(const YamlEvent&) = delete;
    ~YamlEvent() { clear(); }
    bool read(yaml_parser_t& parser) {
        clear();
        filled_ = yaml_parser_parse(&parser, &event_) != 0;
        return filled_;
    }
    const yaml_event_t* operator->() const { return &event_; }
    yaml_event_type_t type() const { return event_.type; }

private:
    void clear() {
        if (filled_) yaml_event_delete(&event_);
        filled_ = false;
    }
    yaml_event_t event_{};
    bool filled_ = false;
};

inline std::string_view yaml_view(const yaml_char_t* text) { return text ? reinterpret_cast<const char*>(text) : ""; }

inline Error yaml_error(const std::string& what) { return Error(Reason::BadRequest, "error converting YAML to JSON: yaml: " + what); }
/// Why the parser has stopped.
Error yaml_error_of(const yaml_parser_t& parser);

/// The text of a key, also of one that is not a string: `true`, `8080`.
std::string yaml_key_text(const Value& key);

}  // namespace porthole::schema
