#include "net/http/http_status.h"
#include "base/time/time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

namespace porthole::net {

std::string_view reason_phrase(int code) {
    switch (code) {
        case 100:
            return "Continue";
        case 101:
            return "Switching Protocols";
        case 200:
            return "OK";
        case 201:
            return "Created";
        case 202:
            return "Accepted";
        case 204:
            return "No Content";
        case 301:
            return "Moved Permanently";
        case 302:
            return "Found";
        case 304:
            return "Not Modified";
        case 307:
            return "Temporary Redirect";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 406:
            return "Not Acceptable";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 410:
            return "Gone";
        case 413:
            return "Request Entity Too Large";
        case 415:
            return "Unsupported Media Type";
        case 417:
            return "Expectation Failed";
        case 422:
            return "Unprocessable Entity";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 502:
            return "Bad Gateway";
        case 503:
            return "Service Unavailable";
        case 504:
            return "Gateway Timeout";
        default:
            return "";
    }
}

namespace {

std::string json_string(std::string_view text) {
    constexpr char Digits[] = "0123456789abcdef";
    std::string json = "\"";
    for (const unsigned char c : text) {
        if (c == '"' || c == '\\') json += '\\';
        if (c < 0x20) {
            json += std::string("\\u00") + Digits[c >> 4] + Digits[c & 15];
        } else {
            json += static_cast<char>(c);
        }
    }
    return json + '"';
}

}  // namespace

std::string status_json(int code, Reason reason, std::string_view message) {
    return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)" + json_string(message) + R"(,"reason":")" +
           to_string(reason) + R"(","code":)" + std::to_string(code) + "}\n";
}

Task<> respond_status(HttpResponder& responder, int code, Reason reason, std::string message) {
    std::vector<Bytes> body{std::make_shared<const std::string>(status_json(code, reason, message))};
    Headers headers{{"content-type", "application/json"}};
    co_return co_await responder.respond(code, std::move(headers), std::move(body));
}

namespace {

constexpr std::array Days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array Months{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

}  // namespace

std::string http_date(SystemTime time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);  // of the first day, nanoseconds would overflow
    const auto days = std::chrono::floor<std::chrono::days>(seconds);
    const std::chrono::year_month_day date(days);
    const std::chrono::hh_mm_ss clock(seconds - days);
    std::string text;
    text.reserve(std::string_view("Sun, 06 Nov 1994 08:49:37 GMT").size());
    const auto two_digits = [&](auto number) {
        text += static_cast<char>('0' + number / 10);
        text += static_cast<char>('0' + number % 10);
    };
    text.append(Days[std::chrono::weekday(days).c_encoding()]) += ", ";
    two_digits(unsigned(date.day()));
    (text += ' ').append(Months[unsigned(date.month()) - 1]) += ' ';
    two_digits(int(date.year()) / 100);
    two_digits(int(date.year()) % 100);
    text += ' ';
    two_digits(clock.hours().count());
    text += ':';
    two_digits(clock.minutes().count());
    text += ':';
    two_digits(clock.seconds().count());
    return text += " GMT";
}

std::optional<SystemTime> parse_http_date(std::string_view text) {
    using namespace std::chrono;
    constexpr std::string_view Form = "Sun, 06 Nov 1994 08:49:37 GMT";
    if (text.size() != Form.size()) return std::nullopt;
    const auto number = [&](std::size_t at, std::size_t digits) {
        int value = -1;
        const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + digits, value);
        return error == std::errc() && end == text.data() + at + digits ? value : -1;
    };
    const auto month = std::ranges::find(Months, text.substr(8, 3));
    const int seconds = number(17, 2) * 3600 + number(20, 2) * 60 + number(23, 2);
    const year_month_day day(year(number(12, 4)), std::chrono::month(static_cast<unsigned>(month - Months.begin()) + 1),
                             std::chrono::day(static_cast<unsigned>(number(5, 2))));
    if (month == Months.end() || !day.ok()) return std::nullopt;
    const SystemTime time = saturated(sys_days(day) + std::chrono::seconds(seconds));
    // Whatever is not of the form, a minus or the 61st minute, is not what this time is written as.
    return http_date(time) == text ? std::optional(time) : std::nullopt;
}

}  // namespace porthole::net
