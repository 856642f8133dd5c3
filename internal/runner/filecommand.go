package runner

import (
	"fmt"
	"os"
	"strings"
)

// A pair is one entry of a file command.
type pair struct{ name, value string }

// readPairs reads what a step wrote to GITHUB_OUTPUT, GITHUB_STATE or
// GITHUB_ENV: lines NAME=VALUE, and NAME<<DELIMITER with the value on the
// lines up to the delimiter. A file that is not there has no entries.
func readPairs(path string) ([]pair, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return parsePairs(text)
}

// parsePairs returns the entries before the first malformed one, too: the
// runner has acted on them by then.
func parsePairs(text string) ([]pair, error) {
	var pairs []pair
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if line == "" {
			continue
		}
		equals, heredoc := strings.Index(line, "="), strings.Index(line, "<<")
		if heredoc >= 0 && (equals < 0 || heredoc < equals) {
			name, delimiter := line[:heredoc], line[heredoc+2:]
			if name == "" || delimiter == "" {
				return pairs, fmt.Errorf("invalid format %q: neither the name nor the delimiter may be empty", line)
			}
			value, rest, err := untilDelimiter(text, delimiter)
			if err != nil {
				return pairs, err
			}
			pairs, text = append(pairs, pair{name, value}), rest
			continue
		}
		if equals < 0 {
			return pairs, fmt.Errorf("invalid format %q", line)
		}
		pairs = append(pairs, pair{line[:equals], line[equals+1:]})
	}
	return pairs, nil
}

func untilDelimiter(text, delimiter string) (value, rest string, err error) {
	var lines []string
	for text != "" {
		line, after, terminated := strings.Cut(text, "\n")
		if line == delimiter {
			return strings.Join(lines, "\n"), after, nil
		}
		if !terminated {
			break
		}
		lines, text = append(lines, line), after
	}
	return "", "", fmt.Errorf("invalid value: the delimiter %q was not found", delimiter)
}

// maxSummary is what GitHub takes of one step's summary. It drops a longer one
// whole.
const maxSummary = 1 << 20

func readSummary(path string) (string, error) {
	text, err := readFile(path)
	if len(text) > maxSummary {
		return "", fmt.Errorf("the step summary has %d bytes, more than %d: all of it is dropped", len(text), maxSummary)
	}
	return text, err
}

func readFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		err = nil
	}
	return string(text), err
}
