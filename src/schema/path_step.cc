#include "schema/path_step.h"

namespace porthole::schema {
namespace {

void append_name(std::string& text, std::string_view name) {
    if (!text.empty()) text += '.';
    text += name;
}

}  // namespace

std::string PathStep::text() const {
    if (kind == Kind::Root) return std::string(name);
    std::string result = parent->text();
    if (kind == Kind::Name)
        append_name(result, name);
    else if (kind == Kind::Index)
        result += "[" + std::to_string(position) + "]";
    else
        result.append("[").append(name).append("]");
    return result;
}

std::string PathStep::strict_text() const {
    if (kind == Kind::Root) return std::string(name);
    std::string result = parent->strict_text();
    if (kind == Kind::Index)
        result += "[" + std::to_string(position) + "]";
    else
        append_name(result, name);
    return result;
}

std::string PathStep::go_text() const {
    if (kind == Kind::Root) return std::string(name);
    std::string result = parent->go_text();
    if (kind == Kind::Name) append_name(result, name);
    return result;
}

}  // namespace porthole::schema
