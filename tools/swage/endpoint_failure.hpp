#pragma once

#include <string>
#include <string_view>

namespace httplib {
enum class Error;
}

namespace swage {

/// Why there was no reply from "http://host:8000", as a sentence: whether the
/// host is unknown, nothing listens, or the answer did not come. Tries to
/// connect once more, since the client does not tell these apart.
std::string told_of_silence(const std::string& origin, httplib::Error why);

/// Why a server refused, as a sentence with its own words; `has_key` says that
/// a key was sent.
std::string told_of_status(int status, const std::string& body, bool has_key);

/// What a server says in a reply, in short and in one line: the message of an
/// OpenAI-style error, the title of a page, or the text itself.
std::string server_words(const std::string& body);

} // namespace swage
