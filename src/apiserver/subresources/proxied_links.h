#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "net/http/http_client.h"

namespace porthole::apiserver {

/// The address of a page behind a proxy path of the API, for example https://api:6443/api/v1/namespaces/a/pods/p/proxy/.
struct ProxiedPage {
    std::string prefix;        ///< path of the proxy, without the slash at its end: "/api/v1/namespaces/a/pods/p/proxy"
    std::string backend;       ///< host and port that answered: "10.244.0.7:80"
    std::string request_host;  ///< the Host header of the client
};

/// A link of the page, changed so that it leads through the proxy: absolute paths, and addresses of the backend itself. Other links are not
/// changed.
std::string proxied_link(std::string_view link, const ProxiedPage& page);

/// The page with the links of its elements, as HTML 4 and 5 define them, replaced by proxied_link()s. Everything else stays byte for byte;
/// text of scripts and styles is not examined.
std::string with_proxied_links(std::string_view html, const ProxiedPage& page);

/// An answer whose redirect and HTML links lead through the proxy. HTML is buffered until it is complete, or longer than 4 MiB: then it is
/// not changed.
std::unique_ptr<net::HttpBody> with_proxied_links(std::unique_ptr<net::HttpBody> answer, ProxiedPage page);

}  // namespace porthole::apiserver
