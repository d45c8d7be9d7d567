package capability

import (
	"fmt"
	"hash/maphash"
)

// permissions reads the entries of a capability.
func (d *Document) permissions(n int32, inArray bool) []Entry {
	entries := d.room(d.count(n))
	k := 0
	end := d.nodes[n].next
	for i := n + 1; i < end; i = d.nodes[i].next {
		switch kind := d.nodes[i].kind; kind {
		case String:
			entries[k].Identifier, entries[k].value = d.permissionIdentifier(i), Value{d, i}
			k++
		case Object:
			entries[k] = d.entry(i, inArray)
			k++
		case Broken:
		default:
			d.report(CodeWrongType, i, fmt.Sprintf(`A permission must be a string, such as "core:default", or an object with "identifier", not %s.`, kind))
		}
	}
	entries = entries[:k]
	d.duplicatePermissions(entries)
	return entries
}

func (d *Document) permissionIdentifier(n int32) string {
	text := d.textOf(n)
	if _, err := ParseIdentifier(text); err != nil {
		d.badIdentifier(n, text, err.(*IdentifierError))
	}
	return text
}

func (d *Document) entry(n int32, inArray bool) Entry {
	e := Entry{value: Value{d, n}}
	if id := d.member(n, "identifier"); id < 0 {
		if !d.damaged {
			d.missingKey(n, "identifier", "The permission", `"identifier": "fs:allow-exists"`, entryKeys)
		}
	} else if d.is(id, String, "identifier") {
		e.Identifier = d.permissionIdentifier(id)
	}
	e.Allow = d.scope(n, "allow")
	e.Deny = d.scope(n, "deny")
	if inArray {
		d.duplicateFields(n, entryKeys...)
	}
	return e
}

var entryKeys = []string{"identifier", "allow", "deny"}

func (d *Document) scope(object int32, key string) []Value {
	n := d.member(object, key)
	if n < 0 || d.nodes[n].kind == Null {
		return nil
	}
	if d.nodes[n].kind != Array {
		d.wrongType(n, key)
		return nil
	}
	values := make([]Value, 0, d.count(n))
	end := d.nodes[n].next
	for i := n + 1; i < end; i = d.nodes[i].next {
		if d.nodes[i].kind != Broken {
			values = append(values, Value{d, i})
		}
	}
	if d.format == TOML {
		for i := n; i < end; i++ {
			if d.nodes[i].kind == Date {
				d.report(CodeUnsupportedScope, i, fmt.Sprintf("A scope cannot hold the date %s; write it as a string.", d.textOf(i)))
			}
		}
	}
	return values
}

// duplicateFields reports keys of one object that the reader refuses to see twice.
func (d *Document) duplicateFields(object int32, keys ...string) {
	for _, key := range keys {
		seen := false
		end := d.nodes[object].next
		for i := object + 1; i < end; {
			if d.textOf(i) == key {
				if seen {
					d.duplicateField(i)
				}
				seen = true
			}
			i = d.nodes[d.nodes[i].next].next
		}
	}
}

func (d *Document) duplicateField(key int32) {
	d.report(CodeDuplicateField, key, fmt.Sprintf("The key %q is written twice here, which the reader refuses in an array of capabilities; remove one of the two.", d.textOf(key)))
}

// duplicatePermissions reports entries that are equal to one before them.
func (d *Document) duplicatePermissions(entries []Entry) {
	const few, many = 8, 256
	switch {
	case len(entries) <= few:
		for i := 1; i < len(entries); i++ {
			for k := range i {
				if d.samePermission(entries, k, i) {
					break
				}
			}
		}
	case len(entries) <= many:
		d.duplicatesByTable(entries)
	default:
		// So many equal identifiers with different scopes would be compared
		// with one another for long; their texts are compared all at once.
		first := make(map[string]int, len(entries))
		var canonical []byte
		for i := range entries {
			canonical = entries[i].value.appendCanonical(canonical[:0])
			if before, ok := first[string(canonical)]; ok {
				d.duplicatePermission(entries, before, i)
			} else {
				first[string(canonical)] = i
			}
		}
	}
}

// duplicatesByTable finds equal identifiers by a hash table on the stack.
func (d *Document) duplicatesByTable(entries []Entry) {
	var table [1024]int16 // index of an entry plus one
	for i := range entries {
		at := maphash.String(seed, entries[i].Identifier) % uint64(len(table))
		for table[at] != 0 {
			if d.samePermission(entries, int(table[at])-1, i) {
				break
			}
			at = (at + 1) % uint64(len(table))
		}
		if table[at] == 0 {
			table[at] = int16(i + 1)
		}
	}
}

var seed = maphash.MakeSeed()

// samePermission reports the later of two entries if they are equal.
func (d *Document) samePermission(entries []Entry, before, again int) bool {
	a, b := &entries[before], &entries[again]
	if a.Identifier != b.Identifier || !a.value.Equal(b.value) {
		return false
	}
	d.duplicatePermission(entries, before, again)
	return true
}

func (d *Document) duplicatePermission(entries []Entry, before, again int) {
	v := entries[again].value
	nd := d.nodes[v.n]
	what := fmt.Sprintf("The permission %q is", entries[again].Identifier)
	if nd.kind == Object {
		what = fmt.Sprintf("The permission %q with the same scope is", entries[again].Identifier)
	}
	d.add(Diagnostic{
		Code:    CodeDuplicatePermission,
		Message: fmt.Sprintf("%s already listed in line %d; remove one of the two.", what, entries[before].value.Position().Line),
		at:      span{nd.start, nd.end},
		Related: []Place{{File: d.name, Start: entries[before].value.Position(), Message: "listed here first"}},
		Fix:     d.removeItem("Remove the second one", v),
	})
}

// removeItem returns the fix that takes an item out of its array, together
// with the comma that goes with it. Nil where the syntax has no commas.
func (d *Document) removeItem(title string, v Value) *Fix {
	if d.format == TOML {
		return nil
	}
	start, end := int(d.nodes[v.n].start), int(d.nodes[v.n].end)
	i := end
	for i < len(d.src) && isSpace(d.src[i]) {
		i++
	}
	if i < len(d.src) && d.src[i] == ',' {
		// Up to the next item, so that the lines before and after join well.
		end = i + 1
		for end < len(d.src) && isSpace(d.src[end]) {
			end++
		}
		if end < len(d.src) && (d.src[end] == '/' || d.src[end] == ']') {
			end = i + 1
		}
		return &Fix{Title: title, Edits: []Edit{{Start: start, End: end}}}
	}
	k := start
	for k > 0 && isSpace(d.src[k-1]) {
		k--
	}
	if k > 0 && d.src[k-1] == ',' {
		return &Fix{Title: title, Edits: []Edit{{Start: k - 1, End: end}}}
	}
	return nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// duplicateKeys reports keys written twice in any object of the document.
func (d *Document) duplicateKeys() {
	const few = 16
	for n := range d.nodes {
		if d.nodes[n].kind != Object {
			continue
		}
		end := d.nodes[n].next
		if int(end)-n > 4*few {
			d.duplicateKeysOf(int32(n))
			continue
		}
		for i := int32(n) + 1; i < end; i = d.nodes[d.nodes[i].next].next {
			key := d.textOf(i)
			for k := int32(n) + 1; k < i; k = d.nodes[d.nodes[k].next].next {
				if d.textOf(k) == key {
					d.duplicateKey(k, i)
					break
				}
			}
		}
	}
}

func (d *Document) duplicateKeysOf(n int32) {
	first := make(map[string]int32)
	end := d.nodes[n].next
	for i := n + 1; i < end; i = d.nodes[d.nodes[i].next].next {
		if before, ok := first[d.textOf(i)]; ok {
			d.duplicateKey(before, i)
		} else {
			first[d.textOf(i)] = i
		}
	}
}

func (d *Document) duplicateKey(before, again int32) {
	nd := d.nodes[again]
	for i := range d.found {
		if d.found[i].Code == CodeDuplicateField && d.found[i].at.start == nd.start {
			return
		}
	}
	at := Value{d, before}.Position()
	d.add(Diagnostic{
		Code:    CodeDuplicateKey,
		Message: fmt.Sprintf("The key %q is already written in line %d, and only the last one counts; remove one of the two.", d.textOf(again), at.Line),
		at:      span{nd.start, nd.end},
		Related: []Place{{File: d.name, Start: at, Message: "written here first"}},
	})
}
