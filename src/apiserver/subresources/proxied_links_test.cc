#include "apiserver/subresources/proxied_links.h"

#include <gtest/gtest.h>

namespace porthole::apiserver {
namespace {

const ProxiedPage Page{"/api/v1/namespaces/a/pods/p/proxy", "10.244.0.7:80", "localhost:8001"};

TEST(ProxiedLinks, LeadThroughTheProxyWhereTheyLeadToTheBackend) {
    const struct {
        const char *name, *link, *wanted;
    } rows[] = {
        {"absolute path", "/x/y?q=/z#f", "/api/v1/namespaces/a/pods/p/proxy/x/y?q=/z#f"},
        {"root", "/", "/api/v1/namespaces/a/pods/p/proxy/"},
        {"slash at the end", "/x/", "/api/v1/namespaces/a/pods/p/proxy/x/"},
        {"cannot leave the proxy", "/x/../../../y", "/api/v1/namespaces/a/pods/p/proxy/y"},
        {"the backend's address", "http://10.244.0.7:80/x", "/api/v1/namespaces/a/pods/p/proxy/x"},
        {"the backend's address without a scheme", "//10.244.0.7:80/x", "/api/v1/namespaces/a/pods/p/proxy/x"},
        {"the host that the client asked", "http://localhost:8001/x", "http://localhost:8001/api/v1/namespaces/a/pods/p/proxy/x"},
        {"leads through it already", "/api/v1/namespaces/a/pods/p/proxy/x", "/api/v1/namespaces/a/pods/p/proxy/x"},
        {"relative", "x/y", "x/y"},
        {"fragment", "#top", "#top"},
        {"another host", "https://example.com/x", "https://example.com/x"},
        {"another scheme", "mailto:a@example.com", "mailto:a@example.com"},
        {"address in the query", "/x?to=http://example.com/", "/api/v1/namespaces/a/pods/p/proxy/x?to=http://example.com/"},
        {"empty", "", ""},
    };
    for (const auto& row : rows) EXPECT_EQ(proxied_link(row.link, Page), row.wanted) << row.name;
}

TEST(ProxiedLinks, AreFoundInElementsThatHaveThem) {
    const std::string proxy = Page.prefix;
    const struct {
        const char* name;
        std::string html, wanted;
    } rows[] = {
        {"quoted", R"(<a href="/x">test</a>)", R"(<a href=")" + proxy + R"(/x">test</a>)"},
        {"single quotes", "<IMG alt='/x' SRC='/x'>", "<IMG alt='/x' SRC='" + proxy + "/x'>"},
        {"without quotes", "<a href=/x>t", "<a href=" + proxy + "/x>t"},
        {"blanks", "<form\n action = \"/x\" >", "<form\n action = \"" + proxy + "/x\" >"},
        {"closed at once", "<link href=\"/x\"/>", "<link href=\"" + proxy + "/x\"/>"},
        {"two in one element", "<video poster=/x src=/y>", "<video poster=" + proxy + "/x src=" + proxy + "/y>"},
        {"no attribute of this element", "<p href=\"/x\">", "<p href=\"/x\">"},
        {"text", "1 < 2 href=\"/x\" </a href=\"/x\">", "1 < 2 href=\"/x\" </a href=\"/x\">"},
        {"comment", "<!-- <a href=\"/x\"> -->", "<!-- <a href=\"/x\"> -->"},
        {"a script's text", "<script src=/x>'<a href=\"/x\">'</SCRIPT>", "<script src=" + proxy + "/x>'<a href=\"/x\">'</SCRIPT>"},
        {"broken off", "<a href=\"/x", "<a href=\"" + proxy + "/x"},
        {"broken off before the value", "<a href=", "<a href="},
    };
    for (const auto& row : rows) EXPECT_EQ(with_proxied_links(row.html, Page), row.wanted) << row.name;
}

}  // namespace
}  // namespace porthole::apiserver
