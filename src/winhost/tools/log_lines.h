#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace porthole::winhost {

/// One line of a log, or a part of a long one.
struct LogLine {
    std::string text;  ///< UTF-8, without the line break
    bool whole;        ///< complete; false: the next one continues it
};

/// Cuts a program's output into lines of a CRI log. Bytes that are not valid UTF-8 are read as Windows-1252, the code page of programs in
/// the emulated containers; a carriage return before the line break stays, as on Windows.
class LogLines {
public:
    static constexpr std::size_t LongestLine = 16 << 10;  ///< bytes; longer ones are split

    std::vector<LogLine> add(std::string_view bytes) {
        std::vector<LogLine> lines;
        for (std::size_t end; (end = bytes.find('\n')) != bytes.npos; bytes.remove_prefix(end + 1)) {
            pending_.append(bytes.substr(0, end));
            cut(lines);
            lines.push_back({to_utf8(pending_), true});
            pending_.clear();
        }
        pending_.append(bytes);
        cut(lines);
        return lines;
    }
    /// Output that remains without a line break.
    std::vector<LogLine> rest() {
        std::vector<LogLine> lines;
        if (!pending_.empty()) lines.push_back({to_utf8(pending_), false});
        pending_.clear();
        return lines;
    }

    static std::string to_utf8(std::string_view bytes) {
        std::string text;
        while (!bytes.empty()) {
            const std::size_t length = sequence_length(bytes);
            if (length > 0)
                text.append(bytes.substr(0, length));
            else
                append_1252(text, static_cast<unsigned char>(bytes[0]));
            bytes.remove_prefix(length > 0 ? length : 1);
        }
        return text;
    }

private:
    void cut(std::vector<LogLine>& lines) {
        while (pending_.size() > LongestLine) {
            std::size_t end = LongestLine;
            while (end > LongestLine - 4 && (static_cast<unsigned char>(pending_[end]) & 0xC0) == 0x80) --end;  // not inside a character
            lines.push_back({to_utf8(std::string_view(pending_).substr(0, end)), false});
            pending_.erase(0, end);
        }
    }
    /// Of the character at the beginning; 0 if it is not valid UTF-8.
    static std::size_t sequence_length(std::string_view bytes) {
        const auto first = static_cast<unsigned char>(bytes[0]);
        const std::size_t length = first < 0x80                    ? 1
                                   : first >= 0xC2 && first < 0xE0 ? 2
                                   : first >= 0xE0 && first < 0xF0 ? 3
                                   : first >= 0xF0 && first < 0xF5 ? 4
                                                                   : 0;
        if (length > bytes.size()) return 0;
        for (std::size_t i = 1; i < length; ++i)
            if ((static_cast<unsigned char>(bytes[i]) & 0xC0) != 0x80) return 0;
        if (length == 3) {
            const auto second = static_cast<unsigned char>(bytes[1]);
            if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0)) return 0;
        }
        if (length == 4) {
            const auto second = static_cast<unsigned char>(bytes[1]);
            if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90)) return 0;
        }
        return length;
    }
    static void append_1252(std::string& text, unsigned char byte) {
        static constexpr unsigned short High[] = {0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
                                                  0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
                                                  0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};
        const unsigned code = byte < 0xA0 && byte >= 0x80 ? High[byte - 0x80] : byte;
        if (code >= 0x800) text.push_back(static_cast<char>(0xE0 | code >> 12));
        text.push_back(static_cast<char>(code >= 0x800 ? 0x80 | (code >> 6 & 0x3F) : 0xC0 | code >> 6));
        text.push_back(static_cast<char>(0x80 | (code & 0x3F)));
    }

    std::string pending_;
};

}  // namespace porthole::winhost
