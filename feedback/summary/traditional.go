package summary

import "strings"

// simplified returns s with the simplified forms of traditional characters that the rules know. It
// has the same length.
func simplified(s string) string { return strings.Map(simplify, s) }

func simplify(r rune) rune {
	if to, ok := simpleForms[r]; ok {
		return to
	}
	return r
}

// simpleForms maps traditional characters to their simplified forms, of which each is as long.
var simpleForms = func() map[rune]rune {
	m := map[rune]rune{}
	for _, pair := range strings.Fields(`這这 個个 們们 說说 話话 來来 時时 後后 會会 學学 練练 習习 業业 課课 週周 禮礼
		號号 點点 鐘钟 錄录 開开 關关 門门 記记 寫写 沒没 過过 還还 對对 錯错 應应 該该 幫帮 媽妈 爺爷 請请 讓让 給给 帶带
		買买 準准 備备 畫画 彈弹 讀读 聽听 間间 長长 體体 動动 現现 場场 費费 錢钱 繳缴 報报 賽赛 級级 試试 樂乐
		樣样 種种 麼么 裡里 裏里 進进 為为 從从 與与 於于 並并 難难 邊边 聲声 靜静 總总 經经 當当 將将 處处 實实 覺觉
		數数 題题 頁页 張张 檢检 發发 傳传 視视 頻频 補补 調调 換换 遲迟 園园 親亲 師师 謝谢 結结 東东 電电
		錶表 單单 詞词 語语 兩两 條条 則则 幾几 歲岁 連连 續续 達达 別别 啟启 鋼钢 須须 複复 復复 預预 訂订
		紙纸 筆笔 劃划 噓嘘 餓饿 廚厨 順顺 萬万 億亿 塊块 勁劲 務务 簽签 約约 參参 覽览 匯汇 歡欢 嗎吗 誰谁 講讲 節节 紅红
		線线 認认 鬧闹 燈灯 擾扰 國国 慶庆 轉转 賬账 遞递 寶宝 貝贝 剛刚 劇剧 驗验 測测 裝装 繼继 較较 內内 譜谱 稱称`) {
		r := []rune(pair)
		m[r[0]] = r[1]
	}
	return m
}()
