#include "apiserver/subresources/proxied_links.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace porthole::apiserver {
namespace {

struct LinkedElement {
    std::string_view name;
    std::vector<std::string_view> attributes;
};

const std::vector<LinkedElement>& linked_elements() {
    static const std::vector<LinkedElement> elements{
        {"a", {"href"}},
        {"applet", {"codebase"}},
        {"area", {"href"}},
        {"audio", {"src"}},
        {"base", {"href"}},
        {"blockquote", {"cite"}},
        {"body", {"background"}},
        {"button", {"formaction"}},
        {"command", {"icon"}},
        {"del", {"cite"}},
        {"embed", {"src"}},
        {"form", {"action"}},
        {"frame", {"longdesc", "src"}},
        {"head", {"profile"}},
        {"html", {"manifest"}},
        {"iframe", {"longdesc", "src"}},
        {"img", {"longdesc", "src", "usemap"}},
        {"input", {"src", "usemap", "formaction"}},
        {"ins", {"cite"}},
        {"link", {"href"}},
        {"object", {"classid", "codebase", "data", "usemap"}},
        {"q", {"cite"}},
        {"script", {"src"}},
        {"source", {"src"}},
        {"video", {"poster", "src"}},
    };
    return elements;
}

/// Elements whose content is text, in which `<` begins no element.
constexpr std::array<std::string_view, 8> TextElements{"iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool is_letter(char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; }

/// "/a/../b//c/" → "/b/c/", as a browser would ask for it.
std::string cleaned(std::string_view path) {
    std::vector<std::string_view> kept;
    for (const std::string_view segment : split_views(path, '/')) {
        if (segment.empty() || segment == ".") continue;
        if (segment != "..")
            kept.push_back(segment);
        else if (!kept.empty())
            kept.pop_back();
    }
    std::string text = "/" + join(kept, "/");
    if (path.ends_with('/') && text.size() > 1) text += '/';
    return text;
}

/// Reads a page from its begin to its end and writes what becomes of it.
class LinkWriter {
public:
    LinkWriter(std::string_view html, const ProxiedPage& page) : html_(html), page_(page) {}

    std::string write() {
        while (at_ < html_.size()) {
            const std::size_t begin = std::min(html_.find('<', at_), html_.size());
            copy_to(begin);
            if (html_.substr(at_).starts_with("<!--")) {
                copy_behind("-->");
            } else if (at_ + 1 < html_.size() && is_letter(html_[at_ + 1])) {
                element();
            } else if (at_ < html_.size()) {
                copy_to(at_ + 1);
            }
        }
        return std::move(out_);
    }

private:
    void copy_to(std::size_t end) {
        out_ += html_.substr(at_, end - at_);
        at_ = end;
    }

    void copy_behind(std::string_view mark) {
        const std::size_t found = html_.find(mark, at_);
        copy_to(found == std::string_view::npos ? html_.size() : found + mark.size());
    }

    std::size_t skip(std::size_t from, auto belongs) const {
        while (from < html_.size() && belongs(html_[from])) ++from;
        return from;
    }

    /// A start tag; for an element of text also that.
    void element() {
        const std::size_t end = skip(at_ + 1, [](char c) { return !is_blank(c) && c != '/' && c != '>'; });
        const std::string name = to_lower(html_.substr(at_ + 1, end - at_ - 1));
        copy_to(end);
        const auto linked = std::ranges::find(linked_elements(), name, &LinkedElement::name);
        while (at_ < html_.size() && html_[at_] != '>') attribute(linked == linked_elements().end() ? nullptr : &*linked);
        if (std::ranges::find(TextElements, name) != TextElements.end()) copy_to(end_of_text("</" + name));
    }

    /// One attribute with the blanks and slashes before it. Moves on by one character at least.
    void attribute(const LinkedElement* element) {
        copy_to(skip(at_, [](char c) { return is_blank(c) || c == '/'; }));
        if (at_ == html_.size() || html_[at_] == '>') return;
        const std::size_t end_of_name = skip(at_ + 1, [](char c) { return !is_blank(c) && c != '/' && c != '>' && c != '='; });
        const std::string name = to_lower(html_.substr(at_, end_of_name - at_));
        copy_to(end_of_name);
        const std::size_t equals = skip(at_, is_blank);
        if (equals == html_.size() || html_[equals] != '=') return;
        copy_to(skip(equals + 1, is_blank));
        if (at_ == html_.size() || html_[at_] == '>') return;
        const char mark = html_[at_];
        const bool quoted = mark == '"' || mark == '\'';
        if (quoted) copy_to(at_ + 1);
        const std::size_t end = skip(at_, [&](char c) { return quoted ? c != mark : !is_blank(c) && c != '>'; });
        if (element && std::ranges::find(element->attributes, name) != element->attributes.end()) {
            out_ += proxied_link(html_.substr(at_, end - at_), page_);
            at_ = end;
        }
        copy_to(std::min(quoted ? end + 1 : end, html_.size()));
    }

    std::size_t end_of_text(std::string_view end_tag) const {
        for (std::size_t at = html_.find('<', at_); at != std::string_view::npos; at = html_.find('<', at + 1))
            if (equal_ignoring_case(html_.substr(at, end_tag.size()), end_tag)) return at;
        return html_.size();
    }

    std::string_view html_;
    const ProxiedPage& page_;
    std::size_t at_ = 0;  ///< what is before it is written
    std::string out_;
};

constexpr std::size_t PageLimit = 4 << 20;

class ProxiedBody final : public net::HttpBody {
public:
    ProxiedBody(std::unique_ptr<net::HttpBody> answer, ProxiedPage page) : answer_(std::move(answer)), page_(std::move(page)) {
        for (const auto& [name, value] : answer_->headers().fields())
            headers_.add(name, name == "location" ? proxied_link(value, page_) : value);
        const std::string_view type = headers_.get("content-type");
        // Where the links are in compressed bytes is not known; a redirect's text is not read.
        held_ = trim(type.substr(0, type.find(';'))) == "text/html" && !headers_.has("content-encoding") && !headers_.has("location");
    }

    int code() const override { return answer_->code(); }
    const net::Headers& headers() const override { return headers_; }

    Task<std::optional<std::string>> next() override {
        if (!std::exchange(held_, false)) co_return co_await answer_->next();
        std::string page;
        while (page.size() <= PageLimit) {
            CO_TRY(std::optional<std::string> piece, co_await answer_->next());
            if (!piece) {
                if (page.empty()) co_return std::optional<std::string>();
                co_return std::optional(with_proxied_links(page, page_));
            }
            page += *piece;
        }
        co_return std::optional(std::move(page));
    }

private:
    std::unique_ptr<net::HttpBody> answer_;
    ProxiedPage page_;
    net::Headers headers_;
    bool held_ = false;  ///< the page has not been read yet
};

}  // namespace

std::string proxied_link(std::string_view link, const ProxiedPage& page) {
    // [scheme:]//host/path, or /path
    std::string_view rest = link, origin;
    const std::size_t slashes = link.find("//");
    const std::string_view scheme = slashes == std::string_view::npos ? std::string_view() : link.substr(0, slashes);
    if (slashes == 0 || (slashes != std::string_view::npos && scheme.ends_with(':') && scheme.find_first_of("/?#") == scheme.npos)) {
        rest.remove_prefix(slashes + 2);
        const std::string_view host = rest.substr(0, std::min(rest.find_first_of("/?#"), rest.size()));
        if (!host.empty() && host != page.backend && host != page.request_host) return std::string(link);
        rest.remove_prefix(host.size());
        if (!host.empty() && host == page.request_host) origin = link.substr(0, link.size() - rest.size());
    }
    if (!rest.starts_with('/')) return std::string(link);
    const std::size_t end = std::min(rest.find_first_of("?#"), rest.size());
    const std::string_view path = rest.substr(0, end), query = rest.substr(end);
    return std::string(origin) + (path.starts_with(page.prefix) ? std::string(path) : page.prefix + cleaned(path)) + std::string(query);
}

std::string with_proxied_links(std::string_view html, const ProxiedPage& page) { return LinkWriter(html, page).write(); }

std::unique_ptr<net::HttpBody> with_proxied_links(std::unique_ptr<net::HttpBody> answer, ProxiedPage page) {
    return std::make_unique<ProxiedBody>(std::move(answer), std::move(page));
}

}  // namespace porthole::apiserver
