#include "base/regex.h"

#include <fmt/format.h>
#include <algorithm>

namespace porthole {
namespace {

constexpr char32_t Last = 0x10FFFF;
constexpr std::size_t LongestProgram = 100'000;
constexpr int MostRepeats = 1000, DeepestGroup = 200;

/// Takes one character off the front.
char32_t take_rune(std::string_view& text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    const int length = first < 0x80                    ? 1
                       : first >= 0xC2 && first < 0xE0 ? 2
                       : first >= 0xE0 && first < 0xF0 ? 3
                       : first >= 0xF0 && first < 0xF5 ? 4
                                                       : 0;
    if (length <= 1 || text.size() < static_cast<std::size_t>(length)) {
        text.remove_prefix(1);
        return length == 1 ? first : 0xFFFD;
    }
    char32_t rune = first & (0x7Fu >> length);
    for (int i = 1; i < length; ++i) {
        if ((byte(static_cast<std::size_t>(i)) & 0xC0) != 0x80) {
            text.remove_prefix(1);
            return 0xFFFD;
        }
        rune = rune << 6 | (byte(static_cast<std::size_t>(i)) & 0x3F);
    }
    text.remove_prefix(static_cast<std::size_t>(length));
    return rune;
}

bool is_word(char32_t c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

}  // namespace

/// Parses by descent and emits as it goes: a fragment is a run of instructions whose open end is the next one emitted.
class RegexCompiler {
public:
    explicit RegexCompiler(std::string_view pattern) : whole_(pattern), rest_(pattern) {}

    Result<Regex> compile() {
        alternation(0);
        if (problem_.empty() && !rest_.empty()) fail("unexpected )");
        if (!problem_.empty()) return Error(Reason::BadRequest, fmt::format("error parsing regexp: {}: `{}`", problem_, whole_));
        emit(Regex::Operation::Match);
        return std::move(regex_);
    }

private:
    using Operation = Regex::Operation;
    using Range = Regex::Range;
    using Ranges = std::vector<Range>;
    struct Flags {
        bool fold_case = false, dot_all = false, multi_line = false;
    };

    void fail(const char* problem) {
        if (problem_.empty()) problem_ = problem;
        rest_ = {};
    }
    bool at(char c) const { return !rest_.empty() && rest_[0] == c; }
    bool take(char c) {
        if (!at(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::uint32_t here() const { return static_cast<std::uint32_t>(regex_.program_.size()); }
    std::uint32_t emit(Operation operation, std::uint32_t other = 0) {
        if (regex_.program_.size() >= LongestProgram) fail("expression too large");
        regex_.program_.push_back({operation, here() + 1, other});
        return here() - 1;
    }
    void emit_class(Ranges ranges) {
        if (flags_.fold_case) fold(ranges);
        std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.first < b.first; });
        regex_.classes_.push_back(std::move(ranges));
        emit(Operation::Class, static_cast<std::uint32_t>(regex_.classes_.size() - 1));
    }

    static void fold(Ranges& ranges) {
        const std::size_t count = ranges.size();
        for (std::size_t i = 0; i < count; ++i) {
            const auto shifted = [&](char32_t from, char32_t to, int by) {
                const char32_t first = std::max(ranges[i].first, from), last = std::min(ranges[i].last, to);
                if (first <= last) ranges.push_back({first + static_cast<char32_t>(by), last + static_cast<char32_t>(by)});
            };
            shifted('A', 'Z', 32);
            shifted('a', 'z', -32);
        }
    }

    static Ranges complement(Ranges ranges) {
        std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.first < b.first; });
        Ranges result;
        char32_t next = 0;
        for (const Range range : ranges) {
            if (range.first > next) result.push_back({next, range.first - 1});
            next = std::max<char32_t>(next, range.last + 1);
        }
        if (next <= Last) result.push_back({next, Last});
        return result;
    }

    void alternation(int depth) {
        if (depth > DeepestGroup) return fail("expression nests too deeply");
        std::vector<std::uint32_t> jumps;
        while (true) {
            const std::uint32_t start = here();
            sequence(depth);
            if (!take('|')) break;
            insert_split(start);
            jumps.push_back(emit(Operation::Jump));
            regex_.program_[start].other = here();
        }
        for (const std::uint32_t jump : jumps) regex_.program_[jump].next = here();
    }

    /// Puts a Split before a fragment and moves the fragment's targets along.
    void insert_split(std::uint32_t start) {
        auto& program = regex_.program_;
        program.insert(program.begin() + start, {Operation::Split, start + 1, 0});
        for (std::size_t i = start + 1; i < program.size(); ++i) {
            ++program[i].next;
            if (program[i].operation == Operation::Split) ++program[i].other;
        }
        if (program.size() > LongestProgram) fail("expression too large");
    }

    void sequence(int depth) {
        while (!rest_.empty() && !at('|') && !at(')')) {
            const std::uint32_t start = here();
            atom(depth);
            quantifiers(start);
        }
    }

    void quantifiers(std::uint32_t start) {
        int least = 0, most = 0;
        while (quantifier(least, most)) {
            take('?');  // lazy: the same set of texts
            repeat(start, least, most);
        }
    }

    bool quantifier(int& least, int& most) {
        if (take('*')) return least = 0, most = -1, true;
        if (take('+')) return least = 1, most = -1, true;
        if (take('?')) return least = 0, most = 1, true;
        if (!at('{')) return false;
        const std::string_view before = rest_;
        take('{');
        if (!number(least)) return rest_ = before, false;
        most = least;
        if (take(',')) {
            most = -1;
            if (!at('}') && !number(most)) return rest_ = before, false;
        }
        if (!take('}')) return rest_ = before, false;
        if (least > MostRepeats || most > MostRepeats || (most >= 0 && most < least)) fail("invalid repeat count");
        return true;
    }

    bool number(int& value) {
        if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') return false;
        for (value = 0; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; rest_.remove_prefix(1))
            value = std::min(value * 10 + (rest_[0] - '0'), 100'000);
        return true;
    }

    /// The fragment since `start`, again and again: `least` copies, then optional ones or a loop.
    void repeat(std::uint32_t start, int least, int most) {
        const std::vector<Regex::Instruction> piece(regex_.program_.begin() + start, regex_.program_.end());
        regex_.program_.resize(start);
        for (int i = 0; i < least && problem_.empty(); ++i) copy(piece, start);
        if (most < 0) {
            const std::uint32_t split = emit(Operation::Split);
            copy(piece, start);
            regex_.program_[emit(Operation::Jump)].next = split;
            regex_.program_[split].other = here();
            return;
        }
        std::vector<std::uint32_t> splits;
        for (int i = least; i < most && problem_.empty(); ++i) {
            splits.push_back(emit(Operation::Split));
            copy(piece, start);
        }
        for (const std::uint32_t split : splits) regex_.program_[split].other = here();
    }

    void copy(const std::vector<Regex::Instruction>& piece, std::uint32_t origin) {
        const std::uint32_t shift = here() - origin;
        if (regex_.program_.size() + piece.size() > LongestProgram) return fail("expression too large");
        for (Regex::Instruction instruction : piece) {
            instruction.next += shift;
            if (instruction.operation == Operation::Split) instruction.other += shift;
            regex_.program_.push_back(instruction);
        }
    }

    void atom(int depth) {
        if (take('(')) return group(depth);
        if (take('[')) return emit_class(bracket());
        if (take('.')) return emit_class(flags_.dot_all ? Ranges{{0, Last}} : Ranges{{0, '\n' - 1}, {'\n' + 1, Last}});
        if (take('^')) return void(emit(flags_.multi_line ? Operation::LineStart : Operation::Start));
        if (take('$')) return void(emit(flags_.multi_line ? Operation::LineEnd : Operation::End));
        if (take('\\')) return escape();
        if (at('*') || at('+') || at('?')) return fail("missing argument to repetition operator");
        const char32_t c = take_rune(rest_);
        emit_class({{c, c}});
    }

    void group(int depth) {
        const Flags outer = flags_;
        if (take('?')) {
            take('P');
            if (take('<')) {
                const std::size_t end = rest_.find('>');
                if (end == std::string_view::npos) return fail("invalid named capture");
                rest_.remove_prefix(end + 1);
            } else if (!group_flags()) {
                return;  // (?i): holds until the enclosing group ends
            }
        }
        alternation(depth + 1);
        if (!take(')')) fail("missing closing )");
        flags_ = outer;
    }

    /// The letters of (?i:…) or (?i). False where the group is only flags.
    bool group_flags() {
        bool value = true;
        while (!rest_.empty()) {
            const char c = rest_[0];
            rest_.remove_prefix(1);
            if (c == ':') return true;
            if (c == ')') return false;
            if (c == '-')
                value = false;
            else if (c == 'i')
                flags_.fold_case = value;
            else if (c == 's')
                flags_.dot_all = value;
            else if (c == 'm')
                flags_.multi_line = value;
            else if (c != 'U')
                break;
        }
        fail("invalid or unsupported Perl syntax");
        return false;
    }

    void escape() {
        if (rest_.empty()) return fail("trailing backslash at end of expression");
        const char c = rest_[0];
        Ranges named;
        if (named_class(c, named)) {
            rest_.remove_prefix(1);
            return emit_class(named);
        }
        if (take('A')) return void(emit(Operation::Start));
        if (take('z')) return void(emit(Operation::End));
        if (take('b')) return void(emit(Operation::Word));
        if (take('B')) return void(emit(Operation::NoWord));
        const char32_t rune = escaped();
        emit_class({{rune, rune}});
    }

    /// \d, \w, \s and their opposites.
    static bool named_class(char c, Ranges& ranges) {
        switch (c) {
            case 'd':
                ranges = {{'0', '9'}};
                return true;
            case 'w':
                ranges = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
                return true;
            case 's':
                ranges = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
                return true;
            case 'D':
            case 'W':
            case 'S':
                named_class(static_cast<char>(c + 32), ranges);
                ranges = complement(ranges);
                return true;
            default:
                return false;
        }
    }

    /// One character after a backslash.
    char32_t escaped() {
        const char32_t c = take_rune(rest_);
        switch (c) {
            case 'a':
                return '\a';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'v':
                return '\v';
            case 'x':
                return hexadecimal();
            default:
                break;
        }
        if (c == '0') return 0;
        if (is_word(c) && c != '_') fail("invalid escape sequence");
        return c;
    }

    char32_t hexadecimal() {
        const bool braces = take('{');
        char32_t value = 0;
        int digits = 0;
        for (; !rest_.empty() && (braces || digits < 2); ++digits, rest_.remove_prefix(1)) {
            const char c = rest_[0];
            const int digit = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
            if (digit < 0) break;
            value = std::min<char32_t>(value * 16 + static_cast<char32_t>(digit), Last + 1);
        }
        if (digits == 0 || (!braces && digits != 2) || (braces && !take('}')) || value > Last) fail("invalid escape sequence");
        return value;
    }

    Ranges bracket() {
        const bool negated = take('^');
        Ranges ranges;
        bool first = true;
        while (first || !at(']')) {
            if (rest_.empty()) {
                fail("missing closing ]");
                return {};
            }
            first = false;
            bracket_item(ranges);
        }
        take(']');
        if (!negated) return ranges;
        if (flags_.fold_case) fold(ranges);
        return complement(ranges);
    }

    void bracket_item(Ranges& ranges) {
        if (rest_.starts_with("[:")) return posix_class(ranges);
        if (at('\\') && rest_.size() > 1) {
            Ranges named;
            if (named_class(rest_[1], named)) {
                rest_.remove_prefix(2);
                ranges.insert(ranges.end(), named.begin(), named.end());
                return;
            }
        }
        const char32_t from = bracket_rune();
        char32_t to = from;
        if (rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']') {
            take('-');
            to = bracket_rune();
            if (to < from) return fail("invalid character class range");
        }
        ranges.push_back({from, to});
    }

    char32_t bracket_rune() {
        if (rest_.empty()) return fail("missing closing ]"), 0;
        if (!take('\\')) return take_rune(rest_);
        if (rest_.empty()) return fail("trailing backslash at end of expression"), 0;
        return escaped();
    }

    void posix_class(Ranges& ranges) {
        static const struct {
            std::string_view name;
            std::vector<Range> ranges;
        } known[] = {
            {"[:alpha:]", {{'A', 'Z'}, {'a', 'z'}}},
            {"[:digit:]", {{'0', '9'}}},
            {"[:alnum:]", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
            {"[:lower:]", {{'a', 'z'}}},
            {"[:upper:]", {{'A', 'Z'}}},
            {"[:space:]", {{'\t', '\r'}, {' ', ' '}}},
            {"[:punct:]", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
            {"[:xdigit:]", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
            {"[:word:]", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
            {"[:print:]", {{' ', '~'}}},
        };
        for (const auto& entry : known) {
            if (!rest_.starts_with(entry.name)) continue;
            rest_.remove_prefix(entry.name.size());
            ranges.insert(ranges.end(), entry.ranges.begin(), entry.ranges.end());
            return;
        }
        fail("invalid character class range");
    }

    std::string_view whole_, rest_;
    std::string problem_;
    Flags flags_;
    Regex regex_;
};

/// Follows all ways through the program at once, character by character.
class RegexMatcher {
public:
    explicit RegexMatcher(const Regex& regex) : regex_(regex), marks_(regex.program_.size(), 0) {}

    bool search(std::string_view text) {
        std::vector<std::uint32_t> current, next;
        char32_t before = NoRune;
        mark_ = 1;
        while (true) {
            std::string_view rest = text;
            const char32_t rune = text.empty() ? NoRune : take_rune(rest);
            if (add(current, 0, before, rune)) return true;  // a match may start here
            if (rune == NoRune) return false;
            ++mark_;
            const char32_t after = rest.empty() ? NoRune : peek(rest);
            next.clear();
            for (const std::uint32_t at : current) {
                const auto& instruction = regex_.program_[at];
                if (in_class(regex_.classes_[instruction.other], rune) && add(next, instruction.next, rune, after)) return true;
            }
            current.swap(next);
            before = rune;
            text = rest;
        }
    }

private:
    static constexpr char32_t NoRune = UINT32_MAX;

    static char32_t peek(std::string_view text) { return take_rune(text); }

    static bool in_class(const std::vector<Regex::Range>& ranges, char32_t rune) {
        return std::any_of(ranges.begin(), ranges.end(), [&](Regex::Range range) { return rune >= range.first && rune <= range.last; });
    }

    /// Adds what can be reached without taking a character; true when that is the end.
    bool add(std::vector<std::uint32_t>& threads, std::uint32_t start, char32_t before, char32_t after) {
        using Operation = Regex::Operation;
        waiting_.assign(1, start);
        while (!waiting_.empty()) {
            const std::uint32_t at = waiting_.back();
            waiting_.pop_back();
            if (marks_[at] == mark_) continue;
            marks_[at] = mark_;
            const auto& instruction = regex_.program_[at];
            const bool at_end = after == NoRune;
            const auto word = [](char32_t c) { return c != NoRune && is_word(c); };
            bool passes = true;
            switch (instruction.operation) {
                case Operation::Match:
                    return true;
                case Operation::Class:
                    threads.push_back(at);
                    continue;
                case Operation::Split:
                    waiting_.push_back(instruction.other);
                    break;
                case Operation::Jump:
                    break;
                case Operation::Start:
                    passes = before == NoRune;
                    break;
                case Operation::End:
                    passes = at_end;
                    break;
                case Operation::LineStart:
                    passes = before == NoRune || before == '\n';
                    break;
                case Operation::LineEnd:
                    passes = at_end || after == '\n';
                    break;
                case Operation::Word:
                    passes = word(before) != word(after);
                    break;
                case Operation::NoWord:
                    passes = word(before) == word(after);
                    break;
            }
            if (passes) waiting_.push_back(instruction.next);
        }
        return false;
    }

    const Regex& regex_;
    std::vector<std::uint32_t> marks_;  // by instruction: the step that reached it last
    std::uint32_t mark_ = 0;
    std::vector<std::uint32_t> waiting_;
};

Result<Regex> Regex::compile(std::string_view pattern) { return RegexCompiler(pattern).compile(); }
bool Regex::search(std::string_view text) const { return RegexMatcher(*this).search(text); }

}  // namespace porthole
