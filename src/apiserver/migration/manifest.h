#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace porthole::apiserver {

/// The current records of a store, by key, each with a hash of its plain value: the same for every engine, and however values are
/// encrypted.
class Manifest {
public:
    /// `ends` where the record goes with a lease.
    void add(const std::string& key, std::string_view plain_value, bool ends);

    std::size_t size() const { return entries_.size(); }
    /// Records by resource, "configmaps" or "widgets.example.com"; others by the first part of their key.
    std::map<std::string, std::size_t> counts() const;
    /// 64 hexadecimal digits, of all keys and values.
    std::string digest() const;
    /// The first way in which `copy` is not the same; "" where it is. A record that ends may have ended in the copy.
    std::string difference(const Manifest& copy) const;

private:
    struct Entry {
        std::string hash;
        bool ends = false;
    };
    std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace porthole::apiserver
