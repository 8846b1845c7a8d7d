#include "schema/yaml/yaml_outline.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ranges>

#include "schema/yaml/yaml_event.h"
#include "schema/yaml/yaml_scalar.h"

namespace porthole::schema {
namespace {

constexpr std::string_view ByteOrderMark = "\xEF\xBB\xBF";

/// libyaml counts characters; a text is cut by bytes.
class Offsets {
public:
    explicit Offsets(std::string_view text) : start_(text.starts_with(ByteOrderMark) ? ByteOrderMark.size() : 0), size_(text.size()) {
        const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
        if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return;
        for (std::size_t i = start_; i < text.size(); ++i)
            if (begins_character(text[i])) characters_.push_back(static_cast<std::uint32_t>(i));
        is_ascii_ = false;
    }
    std::size_t of(std::size_t character) const {
        if (is_ascii_) return std::min(character, size_);
        return character < characters_.size() ? characters_[character] : size_;
    }

private:
    std::size_t start_, size_;
    bool is_ascii_ = true;
    std::vector<std::uint32_t> characters_;
};

class OutlineReader {
public:
    OutlineReader(std::string_view text, YamlLimits limits) : text_(text), limits_(limits), offsets_(text) {
        CHECK(yaml_parser_initialize(&parser_) != 0);
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.empty() ? "" : text.data()), text.size());
        yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    }
    ~OutlineReader() { yaml_parser_delete(&parser_); }
    OutlineReader(const OutlineReader&) = delete;
    OutlineReader& operator=(const OutlineReader&) = delete;

    Result<std::vector<YamlNode>> read() {
        std::vector<YamlNode> documents;
        while (true) {
            TRY_VOID(advance());
            if (event_.type() == YAML_STREAM_END_EVENT) return documents;
            if (event_.type() != YAML_DOCUMENT_START_EVENT) continue;
            TRY_VOID(advance());
            YamlNode document;
            const bool empty = is_null();
            TRY_VOID(fill(document, 0));
            TRY_VOID(advance());
            if (!empty) documents.push_back(std::move(document));
        }
    }

private:
    Result<void> advance() {
        if (event_.read(parser_)) return {};
        return yaml_error_of(parser_);
    }

    bool is_null() const {
        if (event_.type() != YAML_SCALAR_EVENT) return false;
        const auto& data = event_->data.scalar;
        const bool plain = data.style == YAML_PLAIN_SCALAR_STYLE && (!data.tag || yaml_view(data.tag) == YAML_NULL_TAG);
        return plain && resolve_yaml_scalar(scalar_text()).is_null();
    }

    std::string_view scalar_text() const { return {reinterpret_cast<const char*>(event_->data.scalar.value), event_->data.scalar.length}; }

    YamlSpan span() const {
        return {offsets_.of(event_->start_mark.index), offsets_.of(event_->end_mark.index), event_->start_mark.line + 1,
                event_->start_mark.column + 1};
    }

    /// The span of the node that the current event starts; a block's end is that of its last value.
    Result<void> fill(YamlNode& node, std::size_t depth) {
        if (depth > limits_.depth) return yaml_error("exceeded max depth");
        if (++nodes_ > limits_.nodes) return yaml_error("document contains excessive aliasing");
        node.span = span();
        switch (event_.type()) {
            case YAML_ALIAS_EVENT:
                node.kind = YamlNode::Kind::Alias;
                return {};
            case YAML_SCALAR_EVENT:
                node.anchored = event_->data.scalar.anchor != nullptr;
                while (node.span.end > node.span.begin && is_space(text_[node.span.end - 1])) --node.span.end;  // of a block scalar
                return {};
            case YAML_SEQUENCE_START_EVENT:
                node.kind = YamlNode::Kind::Sequence;
                node.flow = event_->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
                node.anchored = event_->data.sequence_start.anchor != nullptr;
                return fill_sequence(node, depth);
            case YAML_MAPPING_START_EVENT:
                node.kind = YamlNode::Kind::Mapping;
                node.flow = event_->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
                node.anchored = event_->data.mapping_start.anchor != nullptr;
                return fill_mapping(node, depth);
            default:
                return yaml_error("unexpected event");
        }
    }

    static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

    void close(YamlNode& node) const {
        if (node.flow)
            node.span.end = span().end;
        else if (!node.children.empty())
            node.span.end = std::max(node.children.back().span.end, node.children.back().key.end);
        else
            node.span.end = node.span.begin;
    }

    Result<void> fill_sequence(YamlNode& node, std::size_t depth) {
        while (true) {
            TRY_VOID(advance());
            if (event_.type() == YAML_SEQUENCE_END_EVENT) break;
            TRY_VOID(fill(node.children.emplace_back(), depth + 1));
        }
        close(node);
        return {};
    }

    Result<void> fill_mapping(YamlNode& node, std::size_t depth) {
        while (true) {
            TRY_VOID(advance());
            if (event_.type() == YAML_MAPPING_END_EVENT) break;
            YamlNode& member = node.children.emplace_back();
            if (event_.type() == YAML_SCALAR_EVENT) member.name = name();
            YamlNode key;
            TRY_VOID(fill(key, depth + 1));
            TRY_VOID(advance());
            TRY_VOID(fill(member, depth + 1));
            member.key = key.span;
            // libyaml places a missing value where the next text begins.
            if (member.kind == YamlNode::Kind::Scalar && member.span.begin == member.span.end) {
                member.span = key.span;
                member.span.begin = member.span.end;
            }
        }
        close(node);
        return {};
    }

    /// Of the member that the current event begins.
    std::string name() const {
        const auto& data = event_->data.scalar;
        if (data.style != YAML_PLAIN_SCALAR_STYLE || data.tag) return std::string(scalar_text());
        if (scalar_text() == "<<") return "<<";
        return yaml_key_text(resolve_yaml_scalar(scalar_text()));
    }

    std::string_view text_;
    YamlLimits limits_;
    Offsets offsets_;
    yaml_parser_t parser_{};
    YamlEvent event_;
    std::size_t nodes_ = 0;
};

}  // namespace

const YamlNode* YamlNode::find(std::string_view step) const {
    if (kind == Kind::Sequence) {
        std::size_t index = 0;
        const auto [end, code] = std::from_chars(step.data(), step.data() + step.size(), index);
        const bool inside = code == std::errc() && end == step.data() + step.size() && index < children.size();
        return inside ? &children[index] : nullptr;
    }
    for (const YamlNode& child : children | std::views::reverse)
        if (child.name == step && child.name != "<<") return &child;
    return nullptr;
}

Result<std::vector<YamlNode>> outline_yaml(std::string_view text, YamlLimits limits) { return OutlineReader(text, limits).read(); }

}  // namespace porthole::schema
