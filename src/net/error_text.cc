#include "net/error_text.h"

#include "base/socket_error.h"

namespace porthole::net {

std::string text_of(const boost::system::error_code& error) {
    const bool of_system = error.category() == boost::system::system_category();
    if (const std::string_view words = socket_error_words(error.value()); of_system && !words.empty()) return std::string(words);
    std::string text = error.message();
    if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a') text[0] += 'a' - 'A';
    return text;
}

}  // namespace porthole::net
