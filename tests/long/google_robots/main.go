// Command google-robots asks the Go port of Google's robots.txt parser. A line of input is a JSON object with a body
// (base64), agents and urls; a line of output has, for each agent and each URL, 1 if it may be fetched, else 0.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"github.com/jimsmart/grobotstxt"
)

type question struct {
	Body   []byte
	Agents []string
	Urls   []string
}

func main() {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		var q question
		if in.Decode(&q) != nil {
			return
		}
		for _, agent := range q.Agents {
			for _, url := range q.Urls {
				if grobotstxt.AgentAllowed(string(q.Body), agent, url) {
					out.WriteByte('1')
				} else {
					out.WriteByte('0')
				}
			}
		}
		out.WriteByte('\n')
	}
}
