#include "apiserver/authentication/base64url.h"

#include "base/base64.h"

namespace porthole::apiserver {
namespace {

void replace(std::string& text, char from, char to) {
    for (char& c : text) {
        if (c == from) c = to;
    }
}

}  // namespace

std::string encode_base64url(std::string_view bytes) {
    std::string text = encode_base64(bytes);
    text.resize(text.find_last_not_of('=') + 1);
    replace(text, '+', '-');
    replace(text, '/', '_');
    return text;
}

Result<std::string> decode_base64url(std::string_view text) {
    if (text.find_first_of("+/=") != text.npos) return Error(Reason::BadRequest, "not base64url");
    std::string padded(text);
    padded.append((4 - padded.size() % 4) % 4, '=');
    replace(padded, '-', '+');
    replace(padded, '_', '/');
    return decode_base64(padded);
}

}  // namespace porthole::apiserver
