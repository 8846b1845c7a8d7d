#include <algorithm>
#include <array>
#include <charconv>

#include "fleet/stage_template_nodes.h"
#include "schema/json/json.h"

namespace porthole::fleet {
namespace {

using Kind = TemplateCommand::Kind;
using Node = TemplateNode;

constexpr std::size_t LongestText = 1u << 20, MostNodes = 100'000;
constexpr int DeepestNesting = 64;
constexpr std::array Functions = {"Now", "Quote", "NodeIP", "NodeIPWith", "PodIP", "PodIPWith", "and", "or", "not", "eq", "ne", "index"};

Error not_understood(std::string_view what) {
    return Error(Reason::BadRequest, "template: \"" + std::string(what) + "\" is not understood");
}

bool is_space(char letter) { return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r'; }
bool is_word(char letter) {
    return letter == '_' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

/// The words of one action: `.a.b`, `$x.a`, `"text"`, `(`, `)`, `|`, `:=`, `=`, `,`, names and numbers.
Result<std::vector<std::string_view>> split_words(std::string_view text) {
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at < text.size();) {
        const char first = text[at];
        if (is_space(first)) {
            ++at;
            continue;
        }
        std::size_t end = at + 1;
        if (first == '"' || first == '`') {
            while (end < text.size() && text[end] != first) end += first == '"' && text[end] == '\\' ? 2 : 1;
            if (end >= text.size()) return not_understood(text.substr(at));
            ++end;
        } else if (first == ':' && end < text.size() && text[end] == '=') {
            ++end;
        } else if (first == '.' || first == '$' || first == '-' || is_word(first)) {
            while (end < text.size() && (is_word(text[end]) || text[end] == '.')) ++end;
        } else if (std::string_view("()|=,").find(first) == std::string_view::npos) {
            return not_understood(text.substr(at, 1));
        }
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

/// One action's words, read from left to right.
class Words {
public:
    explicit Words(std::vector<std::string_view> words) : words_(std::move(words)) {}

    bool empty() const { return at_ == words_.size(); }
    std::string_view peek(std::size_t ahead = 0) const { return at_ + ahead < words_.size() ? words_[at_ + ahead] : std::string_view(); }
    std::string_view next() { return empty() ? std::string_view() : words_[at_++]; }

    /// Up to the end, or the parenthesis that ends a group.
    Result<TemplatePipeline> pipeline(int depth) {
        if (depth > DeepestNesting) return Error(Reason::BadRequest, "template: nested too deeply");
        TemplatePipeline made;
        for (;;) {
            TRY(TemplateCommand command, this->command(depth));
            made.push_back(std::move(command));
            if (peek() != "|") break;
            next();
        }
        return made;
    }

private:
    bool at_end_of_command() const { return empty() || peek() == ")" || peek() == "|"; }

    Result<TemplateCommand> command(int depth) {
        const std::string_view first = peek();
        if (std::ranges::find(Functions, first) == Functions.end()) {
            TRY(TemplateCommand made, operand(depth));
            if (!at_end_of_command()) return not_understood(peek());
            return made;
        }
        TemplateCommand call;
        call.kind = Kind::Call;
        call.name = next();
        while (!at_end_of_command()) {
            TRY(TemplateCommand argument, operand(depth));
            call.arguments.push_back(std::move(argument));
        }
        return call;
    }

    Result<TemplateCommand> operand(int depth) {
        const std::string_view word = next();
        TemplateCommand made;
        if (word == "(") {
            made.kind = Kind::Group;
            TRY(made.arguments, pipeline(depth + 1));
            if (next() != ")") return Error(Reason::BadRequest, "template: a parenthesis is not closed");
            return made;
        }
        if (word.starts_with('.') || word.starts_with('$')) {
            made.kind = word.starts_with('$') ? Kind::Variable : Kind::Field;
            const std::size_t dot = std::min(word.find('.'), word.size());
            made.name = word.substr(0, dot);
            TRY(made.path, path(word, word.substr(dot)));
            return made;
        }
        if (std::ranges::find(Functions, word) != Functions.end()) {  // without arguments, as one: `eq PodIP "x"`
            made.kind = Kind::Call;
            made.name = word;
            return made;
        }
        TRY(made.constant, constant(word));
        return made;
    }

    static Result<std::vector<std::string>> path(std::string_view word, std::string_view dotted) {
        std::vector<std::string> names;
        if (dotted == ".") return names;
        while (!dotted.empty()) {
            dotted.remove_prefix(1);
            const std::size_t dot = std::min(dotted.find('.'), dotted.size());
            if (dot == 0) return not_understood(word);
            names.emplace_back(dotted.substr(0, dot));
            dotted.remove_prefix(dot);
        }
        return names;
    }

    static Result<schema::Value> constant(std::string_view word) {
        if (word == "true" || word == "false") return schema::Value(word == "true");
        if (word == "nil") return schema::Value();
        if (word.starts_with('`')) return schema::Value(word.substr(1, word.size() - 2));
        if (word.starts_with('"')) {
            const auto parsed = schema::parse_json(word);  // Go's escapes that JSON has not are refused
            return parsed ? Result<schema::Value>(*parsed) : not_understood(word);
        }
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
        if (word.empty() || error != std::errc() || end != word.data() + word.size()) return not_understood(word.empty() ? "{{}}" : word);
        return schema::Value(number);
    }

    std::vector<std::string_view> words_;
    std::size_t at_ = 0;
};

class Parser {
public:
    explicit Parser(std::string_view text) : rest_(text) {}

    /// Up to the end, or an action that ends or divides a block, which `ended_by_` then holds.
    Result<TemplateNodes> block(int depth) {
        if (depth > DeepestNesting) return Error(Reason::BadRequest, "template: nested too deeply");
        TemplateNodes nodes;
        while (!rest_.empty()) {
            if (++count_ > MostNodes) return Error(Reason::BadRequest, "template: too long");
            const std::size_t open = std::min(rest_.find("{{"), rest_.size());
            add_text(nodes, rest_.substr(0, open));
            if (open == rest_.size()) {
                rest_ = {};
                break;
            }
            TRY(const std::string_view action, cut_action(open));
            if (action.starts_with("/*")) continue;
            TRY(std::vector<std::string_view> split, split_words(action));
            Words words(std::move(split));
            if (words.peek() == "end" || words.peek() == "else") {
                ended_by_ = std::move(words);
                return nodes;
            }
            TRY(Node node, this->action(words, depth));
            nodes.push_back(std::move(node));
        }
        ended_by_.reset();
        return nodes;
    }
    bool at_end() const { return !ended_by_; }

private:
    void add_text(TemplateNodes& nodes, std::string_view text) {
        if (trims_next_)
            while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
        trims_next_ = false;
        if (rest_.substr(std::min(rest_.find("{{"), rest_.size())).starts_with("{{- "))
            while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
        if (text.empty()) return;
        Node node;
        node.text = text;
        nodes.push_back(std::move(node));
    }

    Result<std::string_view> cut_action(std::size_t open) {
        rest_.remove_prefix(open + 2);
        const std::size_t close = rest_.find("}}");
        if (close == rest_.npos) return Error(Reason::BadRequest, "template: an action is not closed");
        std::string_view action = rest_.substr(0, close);
        rest_.remove_prefix(close + 2);
        if (action.starts_with("- ")) action.remove_prefix(2);
        if (action.ends_with(" -")) {
            action.remove_suffix(2);
            trims_next_ = true;
        }
        while (!action.empty() && is_space(action.front())) action.remove_prefix(1);
        return action;
    }

    Result<Node> action(Words& words, int depth) {
        const std::string_view first = words.peek();
        Node node;
        if (first == "if" || first == "with" || first == "range") {
            words.next();
            node.kind = first == "if" ? Node::Kind::If : first == "with" ? Node::Kind::With : Node::Kind::Range;
            TRY_VOID(read_variables(words, node));
            if (!node.variables.empty() && node.kind == Node::Kind::If) return not_understood(":=");
            TRY(node.pipeline, whole_pipeline(words));
            TRY_VOID(read_blocks(node, depth));
            return node;
        }
        TRY_VOID(read_variables(words, node));
        if (node.variables.size() > 1) return not_understood(",");
        node.kind = node.variables.empty() ? Node::Kind::Output : Node::Kind::Assign;
        TRY(node.pipeline, whole_pipeline(words));
        return node;
    }

    static Result<TemplatePipeline> whole_pipeline(Words& words) {
        TRY(TemplatePipeline pipeline, words.pipeline(0));
        if (!words.empty()) return not_understood(words.peek());
        return pipeline;
    }

    /// `$x :=`, `$x =` or `$i, $x :=`, where there is one.
    static Result<void> read_variables(Words& words, Node& node) {
        const std::size_t sign = words.peek(1) == "," ? 3 : 1;
        if (words.peek(sign) != ":=" && words.peek(sign) != "=") return {};
        for (std::size_t i = 0; i <= sign; ++i) {
            const std::string_view word = words.next();
            if (i % 2 != 0) continue;
            if (!word.starts_with('$') || word.size() < 2 || word.find('.') != word.npos) return not_understood(word);
            node.variables.emplace_back(word);
        }
        return {};
    }

    Result<void> read_blocks(Node& node, int depth) {
        TRY(node.body, block(depth + 1));
        if (ended_by_ && ended_by_->peek() == "else") {
            ended_by_->next();
            if (!ended_by_->empty()) {  // `else if x`: an `if` inside that shares the end
                Words nested = std::move(*ended_by_);
                TRY(Node other, action_of_else(nested, depth));
                node.otherwise.push_back(std::move(other));
                return {};
            }
            TRY(node.otherwise, block(depth + 1));
        }
        if (!ended_by_ || ended_by_->next() != "end" || !ended_by_->empty())
            return Error(Reason::BadRequest, "template: {{end}} is missing");
        return {};
    }
    Result<Node> action_of_else(Words& words, int depth) {
        if (words.peek() != "if" && words.peek() != "with") return not_understood(words.peek());
        if (depth > DeepestNesting) return Error(Reason::BadRequest, "template: nested too deeply");
        return action(words, depth + 1);
    }

    std::string_view rest_;
    bool trims_next_ = false;
    std::size_t count_ = 0;
    std::optional<Words> ended_by_;
};

}  // namespace

Result<TemplateNodes> parse_template(std::string_view text) {
    if (text.size() > LongestText) return Error(Reason::BadRequest, "template: too long");
    Parser parser(text);
    TRY(TemplateNodes nodes, parser.block(0));
    if (!parser.at_end()) return Error(Reason::BadRequest, "template: {{end}} or {{else}} without a beginning");
    return nodes;
}

}  // namespace porthole::fleet
